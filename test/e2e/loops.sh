#!/bin/bash
# Inner loops by fixed schedules (test/loops), in the assembly for CPUs that need
# not be here: as many multiplications as the tile has, by the instruction that is
# due, and no load or store of the stack.  Where this CPU runs them, the results
# are those of the plain loops.
. "$(dirname "$0")/lib.sh"
loops=$root/test/loops

# SPEC A B ROWS VECTORS TERMS FIRST SUM PANEL AHEAD [INTRINSIC]: spec.yaml,
# tile.trace
prepare() {
	local last=1 k=0 window='' outer='' flat='' dims='' below='' wide=$(($5 * lanes))
	[ $1 = convolution ] &&
		last=3 k=2 window="$8.y, $8.r, $8.s, " outer='c.y, ' dims=', x0, x1' \
			flat="unroll($8.y)\\n"
	sed "s/\"A\[/\"$2[/; s/const B\[/const $3[/" "$loops/$1.yaml" >spec.yaml
	[ $6 = 1 ] || below=", x$k%$6"
	dims="x$last//$wide$dims, x$k$([ $6 = 1 ] || echo "//$6")"
	dims="$dims, x$last%$wide$below"
	sed "s/# FIRST/$7/; s/ROWS/$4/; s/VECTORS/$5/; s/TERMS/$6/; s/SUM/$8/g
		s/PANEL/$9/; s/AHEAD/${10}/; s/WINDOW/$window/; s/OUTER/$outer/
		s|DIMS|$dims|; s/FLAT/$flat/" "$loops/tile.trace" >tile.trace
	[ $6 = 1 ] || echo "tensorize(kq, ${11})" >>tile.trace
}

# The shortest loop with all of these multiplications: NAME PATTERN COUNT
inner() {
	awk -v p="^($2)\$" -v n="$3" '
		{ line[NR] = $0; many[NR] = many[NR - 1] + ($1 ~ p) }
		/^\.L[A-Za-z0-9_]*:/ { at[substr($1, 1, index($1, ":") - 1)] = NR }
		$1 ~ /^(j|b\.|cb|tb)/ && ($NF in at) {
			first = at[$NF]
			if (many[NR] - many[first] >= n && (!best || NR - first < best)) {
				best = NR - first
				from = first
			}
		}
		END {
			for (i = from; i <= from + best && best; i++)
				print line[i]
		}' "$1.s" >"$1.loop"
	[ -s "$1.loop" ]
}
exactly() { # NAME PATTERN COUNT
	[ "$(awk -v p="^($2)\$" '$1 ~ p' "$1.loop" | wc -l)" = "$3" ]
}
no_spill() { lacks "$1.loop" '(%rsp\|(%rbp\|\[sp\|\[x29'; }

look() { # NAME CPU PATTERN COUNT [OPTION]
	local target="llvm -mcpu=$2 -threads=1" from here=''
	local name=$(sed -n 's/^name: //p' spec.yaml)
	# with sanitizers it is nothing new of cc
	[ "${VARIANT:-}" != sanitize ] &&
		"$TUNEC" target "$target" | grep -q '^runs here' &&
		here="-o $1.o -o $1.c -o $1.h --emit=main"
	ok "$1-$2" "$TUNEC" build -q spec.yaml --trace tile.trace \
		--target "$target" ${5-} -o $1.s $here
	ok "$1-$2-loop" inner $1 "$3" "$4"
	ok "$1-$2-by-instruction" exactly $1 "$3" "$4"
	ok "$1-$2-no-spill" no_spill $1
	[ -z "$here" ] || cc -O2 $unclocked -c ${name}_main.c -o main.o
	for from in ${here:+o c}; do
		ok "$1-$2-compiles-$from" cc -O2 $1.$from main.o -lm -o run
		ok "$1-$2-computes-$from" ./run
	done
}

accumulate='c_acc = cache_write(c, reg)'
bytes='t1 = retype(c, 1, i16)\nt2 = retype(c, 2, i16)\n'$accumulate
words='t1 = retype(c, 1, f32)\nt2 = retype(c, 2, f32)\n'$accumulate
offset='t2 = retype(c, 2, u8)\np, s = distribute(c)\nset_scope(p, reg)'
inline='compute_inline(t2)'
for spec in product convolution; do
	for machine in haswell:6:2:8 skylake-avx512:12:2:16 \
		icelake-server:12:2:16 znver4:12:2:16 neoverse-n1:6:4:4; do
		IFS=: read -r cpu rows vectors lanes <<<"$machine"
		n=$((rows * vectors)) fma='vfmadd[0-9]*ps' vnni='' mul=vpmaddwd
		case $cpu in
		icelake-server | znver4) vnni=1 ;;
		neoverse-n1) fma=fmla ;;
		esac
		prepare $spec f32 f32 $rows $vectors 1 "$accumulate" c_acc b ''
		look ${spec}_f32 $cpu "$fma" $n
		prepare $spec bf16 bf16 $rows $vectors 1 "$words" c_acc t2 \
			"$inline"
		look ${spec}_bf16 $cpu "$fma" $n
		if [ $cpu = neoverse-n1 ]; then
			prepare $spec i8 i8 $rows $vectors 4 "$accumulate" \
				c_acc b '' dot4_i8
			look ${spec}_i8i8 $cpu sdot $n
			prepare $spec u8 u8 $rows $vectors 4 "$accumulate" \
				c_acc b '' dot4_u8
			look ${spec}_u8u8 $cpu udot $n
			prepare $spec u8 i8 $rows $vectors 4 "$offset" p t2 \
				"$inline" dot4_u8
			look ${spec}_u8i8 $cpu udot $n
		elif [ -n "$vnni" ]; then
			prepare $spec u8 i8 $rows $vectors 4 "$accumulate" \
				c_acc b '' dot4_u8i8
			look ${spec}_u8i8 $cpu vpdpbusd $n
			prepare $spec i8 i8 $rows $vectors 4 "$offset" p t2 \
				"$inline" dot4_u8i8
			look ${spec}_i8i8 $cpu vpdpbusd $n
		else
			for types in 'u8 i8' 'i8 i8'; do
				prepare $spec $types $rows $vectors 2 "$bytes" \
					c_acc t2 "$inline" dot2_i16
				look ${spec}_${types/ /} $cpu vpmaddwd $n
			done
		fi
	done
	lanes=16
	prepare $spec bf16 bf16 12 2 2 "$accumulate" c_acc b '' dot2_bf16
	look ${spec}_bf16_fast znver4 vdpbf16ps 24 --numerics=fast
	lanes=4
	prepare $spec bf16 bf16 6 4 2 "$accumulate" c_acc b '' dot2_bf16
	look ${spec}_bf16_fast neoverse-v1 bfdot 24 --numerics=fast
	prepare $spec u8 i8 6 4 4 "$accumulate" c_acc b '' dot4_u8i8
	look ${spec}_u8i8 neoverse-v1 usdot 24
done

# Steps of a tile that ask the same, whatever they count by, have one branch.
cat >tail.yaml <<'END'
tunec: 1
name: tail
inputs: {a: "f32[8, 256]", b: "f32[256, 16]"}
compute: |
  c[i < 8, j < 16] = sum[k < 256](a[i, k] * b[k, j])
END
cat >tail.trace <<'END'
k0, k1 = split(c.k, [_, 3])
reorder(c.i, k0, k1, c.j)
unroll(k1)
vectorize(c.j, 16)
tail(c, mask)
END
exits tail-lowered 0 "$TUNEC" show --stage=lowered tail.yaml --trace tail.trace \
	--target 'llvm -mcpu=znver4 -threads=1'
ok tail-one-branch [ "$(grep -c 'if inside' out)" = 1 ]

# Lanes nine apart are loaded one by one where no instruction is worth it.
cat >apart.yaml <<'END'
tunec: 1
name: apart
inputs: {x: "f32[1000, 9]"}
compute: |
  y[n < 1000] = x[n, 0]*x[n, 4] - x[n, 1]*x[n, 3]
END
for cpu in x86-64-v3 skylake znver3; do
	ok apart-$cpu "$TUNEC" build -q apart.yaml --db none \
		--target "llvm -mcpu=$cpu -threads=1" -o apart.s
	ok apart-$cpu-by-lanes lacks apart.s 'vpextrq\|vgather'
done

# Six neighbours for eight lanes are one load, with two more that lie in the buffer.
cat >few.yaml <<'END'
tunec: 1
name: few
inputs: {x: "f32[777]"}
compute: |
  y[i < 1024] = x[(i*3)//4 + 1]
END
exits few-lowered 0 "$TUNEC" show --stage=lowered few.yaml --db none \
	--target 'llvm -mcpu=x86-64-v3 -threads=1'
ok few-loads [ "$(grep -c 'load x' out)" = "$(grep -c 'store y' out)" ]

# Of eight loads all bytes that lie eight apart: half of a shuffle is the next one's.
cat >every.yaml <<'END'
tunec: 1
name: every
inputs: {x: "u8[512, 8]"}
compute: |
  y[n < 512] = u8(sum[b < 8](if x[n, b] > 49 then i32(b + 1) else i32(0)))
END
exits every-lowered 0 "$TUNEC" show --stage=lowered every.yaml --db none \
	--target 'llvm -mcpu=x86-64-v3 -threads=1'
ok every-shuffles [ "$(grep -c shuffle out)" = 24 ]
ok every-loads [ "$(grep -c 'load x' out)" = 8 ]
