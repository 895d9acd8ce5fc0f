#!/bin/bash
# Products of 4096 x 4096 on GPUs by fixed schedules, without a GPU: what ptxas
# and the disassembly of the inner loop say.  test/diff/test_products.c runs the
# same schedules, small.
. "$(dirname "$0")/lib.sh"
products=$root/test/gpu
tool() { command -v "$1" || ls "$root/build/venv/bin/$1" \
	"$root"/build/venv/lib/python*/site-packages/nvidia/*/bin/"$1" 2>/dev/null |
	head -n 1; }
ptxas=$(tool ptxas) nvdisasm=$(tool nvdisasm)
[ -n "$ptxas" ] || echo '# ptxas is not here: nothing is assembled'
[ -n "$nvdisasm" ] || echo '# nvdisasm is not here: no loop is looked at'

# What is aligned stands in front of what need not be: the first large loop.
build() { # NAME ARCH TRACE OPTION: NAME.cubin, what ptxas said, the loop over steps
	"$TUNEC" build -q "$products/$1.yaml" \
		--trace "$products/${3:-$1}.trace" \
		--target "cuda -arch=$2" --emit=ptx --db none ${4-} || return
	[ -z "$ptxas" ] && return
	"$ptxas" -arch=$2 -v "$1.ptx" -o "$1.cubin" >"$1.said" 2>&1 || return
	[ -z "$nvdisasm" ] && return
	"$nvdisasm" -c "$1.cubin" >"$1.sass" || return
	awk -f "$products/loops.awk" "$1.sass" |
		awk '$2 > 70 && !n++' >"$1.loop"
	[ -s "$1.loop" ]
}
count() { # NAME PATTERN: instructions of the loop that match
	awk -v p="^($2)\$" '{ for (i = 3; i < NF; i += 2) if ($i ~ p)
		n += $(i + 1) } END { print n + 0 }' "$1.loop"
}
assembled() { [ -z "$ptxas" ] || has "$1.said" ' 0 bytes spill stores'; }
looked_at() { [ -n "$ptxas" ] && [ -n "$nvdisasm" ]; }
mostly() { # NAME PATTERN PER_MILLE of the loop's instructions
	[ $((1000 * $(count "$1" "$2"))) -ge $(($3 * $(cut -d ' ' -f 2 "$1.loop"))) ]
}

for arch in sm_75 sm_80 sm_90a; do
	ok f32-$arch build product_f32 $arch
	ok f32-$arch-no-spill assembled product_f32
	looked_at || continue
	ok f32-$arch-fma mostly product_f32 FFMA 900
	ok f32-$arch-wide [ "$(count product_f32 'LDS.*128')" = 64 ]
	ok f32-$arch-barriers [ "$(count product_f32 'BAR.*')" = 1 ]
	[ $arch = sm_75 ] && continue
	ok f32-$arch-asynchronous [ "$(count product_f32 'LDGSTS.*')" = 10 ]
	ok f32-$arch-past-registers [ "$(count product_f32 'LDG[.].*|STS.*')" = 0 ]
done

# Fragments, by instructions of the matrix unit, fed by asynchronous copies, their
# operands loaded four matrices at once, of b as rows of steps transposed.
for case in f16:HMMA.16816.F32 f16_rows:HMMA.16816.F32 \
	bf16:HMMA.16816.F32.BF16 i8:IMMA.16832.S8.S8; do
	name=product_${case%%:*} transposed=0
	[ $name = product_f16_rows ] && transposed=16
	for arch in sm_80 sm_90a; do
		ok $name-$arch build $name $arch
		ok $name-$arch-no-spill assembled $name
		looked_at || continue
		ok $name-$arch-mma [ "$(count $name "${case#*:}")" = 64 ]
		ok $name-$arch-words [ "$(count $name 'LDS')" -le 3 ]
		ok $name-$arch-matrices [ "$(count $name 'LDSM[.].*')" = 20 ]
		ok $name-$arch-transposed \
			[ "$(count $name 'LDSM.16.MT88.4')" = $transposed ]
		ok $name-$arch-asynchronous [ "$(count $name 'LDGSTS.*128')" = 8 ]
		ok $name-$arch-past-registers \
			[ "$(count $name 'LDG[.].*|STS.*')" = 0 ]
		ok $name-$arch-barriers [ "$(count $name 'BAR.*')" = 1 ]
		ok $name-$arch-others [ "$(cut -d ' ' -f 2 $name.loop)" -le 150 ]
	done
done

# With more shared memory than a kernel can declare.
for arch in sm_80 sm_86 sm_90a; do
	ok f32-deep-$arch build product_f32 $arch product_f32_deep
	ok f32-deep-$arch-no-spill assembled product_f32
	ok f16-deep-$arch build product_f16 $arch product_f16_deep
	ok f16-deep-$arch-no-spill assembled product_f16
	looked_at || continue
	ok f16-deep-$arch-mma [ "$(count product_f16 HMMA.16816.F32)" = 64 ]
	ok f16-deep-$arch-matrices [ "$(count product_f16 'LDSM[.].*')" = 20 ]
	ok f16-deep-$arch-barriers [ "$(count product_f16 'BAR.*')" = 1 ]
done

# Of f32 in tf32, where that is allowed: words of b as rows of steps, and each word
# rounded, by two instructions.
for arch in sm_80 sm_90a; do
	name=product_tf32
	ok $name-$arch build $name $arch "" --numerics=fast
	ok $name-$arch-rounded [ "$(grep -c cvt.rna.tf32.f32 $name.ptx)" -ge 80 ]
	ok $name-$arch-no-spill assembled $name
	looked_at || continue
	ok $name-$arch-mma [ "$(count $name HMMA.1688.F32.TF32)" = 64 ]
	ok $name-$arch-matrices [ "$(count $name 'LDSM[.].*')" = 4 ]
	ok $name-$arch-words [ "$(count $name 'LDS')" -le 67 ]
	ok $name-$arch-asynchronous [ "$(count $name 'LDGSTS.*128')" = 8 ]
	ok $name-$arch-past-registers [ "$(count $name 'LDG[.].*|STS.*')" = 0 ]
	ok $name-$arch-barriers [ "$(count $name 'BAR.*')" = 1 ]
	ok $name-$arch-others [ "$(cut -d ' ' -f 2 $name.loop)" -le 360 ]
done
for mode in default exact; do
	build product_tf32 sm_80 "" --numerics=$mode 2>refusal
	ok product_tf32-$mode-refused [ $? = 1 ]
	ok product_tf32-$mode-why has refusal 'product_tf32.trace:34:1: error: only --numerics=fast rounds f32 to tf32'
done

# By warpgroups: products of what a block shares, as ptxas wants them.
for case in product_f16:wgmma_f16:HGMMA.64x64x16.F32 \
	product_bf16:wgmma_bf16:HGMMA.64x64x16.F32.BF16 \
	product_i8:wgmma_i8:IGMMA.64x64x32.S8.S8 \
	wgmma_across:wgmma_across:HGMMA.64x128x16.F32; do
	name=${case%%:*} instruction=${case##*:} trace=${case#*:}
	trace=${trace%:*}
	ok $trace build $name sm_90a $trace
	ok $trace-no-spill assembled $name
	ok $trace-not-serialized lacks $name.said 'C75\|serialized\|arning'
	looked_at || continue
	ok $trace-products [ "$(count $name "$instruction")" = 4 ]
	ok $trace-asynchronous [ "$(count $name 'LDGSTS.*128')" -ge 6 ]
	ok $trace-past-registers \
		[ "$(count $name 'LDG[.].*|STS.*|LDS.*M.*')" = 0 ]
	ok $trace-barriers [ "$(count $name 'BAR.*')" = 1 ]
	ok $trace-others [ "$(cut -d ' ' -f 2 $name.loop)" -le 120 ]
done
for arch in sm_80 sm_90; do
	ok no-warpgroups-$arch "$TUNEC" build -q "$products/product_f16.yaml" \
		--trace "$products/wgmma_f16.trace" --target "cuda -arch=$arch" \
		--emit=ptx --db none
	ok no-warpgroups-$arch-none lacks product_f16.ptx wgmma
done

# What the rules make of products that fill such a card.
for name in product_f16 product_f16_rows product_bf16 product_i8; do
	ok rules-$name "$TUNEC" build -q "$products/$name.yaml" \
		--target 'cuda -arch=sm_90a' --emit=ptx --db none
	ok rules-$name-groups has $name.ptx 'wgmma\.mma_async'
	[ -z "$ptxas" ] ||
		"$ptxas" -arch=sm_90a -v $name.ptx -o $name.cubin >$name.said 2>&1
	ok rules-$name-no-spill assembled $name
	[ -z "$ptxas" ] || ok rules-$name-not-serialized \
		lacks $name.said 'C75\|serialized\|arning'
done

# What the rules make of such a product, b as rows of steps, also with an epilogue.
for case in f16:sm_75 f16:sm_80 f16:sm_90a bf16:sm_80; do
	type=${case%:*} arch=${case#*:}
	cat >dense.yaml <<-E
		tunec: 1
		name: dense
		params: {M: 512, N: 512, K: 256}
		inputs:
		  a: $type[M, K]
		  b: const $type[K, N]
		  bias: f32[N]
		compute: |
		  c[i < M, j < N] = sum[k < K](f32(a[i, k]) * f32(b[k, j]))
		  out[i < M, j < N]: $type = max(c[i, j] + bias[j], 0)
	E
	ok dense-$case "$TUNEC" build -q dense.yaml \
		--target "cuda -arch=$arch" --emit=ptx --db none
	ok dense-$case-mma has dense.ptx 'mma\.sync\.aligned\.m16n8k'
	ok dense-$case-matrices has dense.ptx 'ldmatrix\..*\.x4\.trans'
	ok dense-$case-no-words lacks dense.ptx 'ld\.shared'
	ok dense-$case-one-kernel [ "$(grep -c '\.entry' dense.ptx)" = 1 ]
	[ -z "$ptxas" ] ||
		"$ptxas" -arch=$arch -v dense.ptx -o dense.cubin >dense.said 2>&1
	ok dense-$case-no-spill assembled dense
done

# Of f32 they take the matrix unit only where it may round.
for mode in default exact fast; do
	"$TUNEC" build -q "$products/product_tf32.yaml" -DN=512 --numerics=$mode \
		--target 'cuda -arch=sm_80' --emit=ptx --db none
	said=lacks
	[ $mode = fast ] && said=has
	ok product_tf32-$mode-default $said product_tf32.ptx \
		'mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.tf32'
done
