#!/bin/bash
# What the emitted C keeps in registers stays there: gcc and clang put about as
# many vectors on the stack as LLVM's object does, whatever else they could carry
# from one iteration or piece of a loop to the next.
. "$(dirname "$0")/lib.sh"

# stack FILE: instructions that take a vector from the stack, or put one there
stack() {
	objdump -d --no-show-raw-insn "$1" | grep -c '[xyz]mm.*(%r[sb]p\|(%r[sb]p.*[xyz]mm'
}

# few SPEC MOST CPU: at most that many more than the object's
few() {
	local cc name=${1##*:} own
	ok "builds-$name" "$TUNEC" build -q "$root/workloads/$1" \
		--target "llvm -mcpu=$3 -threads=1" -o k.o -o k.c
	own=$(stack k.o)
	for cc in gcc clang-14; do
		command -v $cc >/dev/null || continue
		$cc -O2 -c k.c -o c.o
		ok "few-$name-$cc" test "$(stack c.o)" -le $((own + $2))
	done
}

[ "$(uname -m)" = x86_64 ] && command -v objdump gcc >/dev/null || {
	echo 'skip: not x86-64, or no objdump or gcc'
	exit 77
}
few conv2d.yaml:resnet18_c9 60 znver4 # three pieces read the same
few conv2d.yaml:resnet18_c2 150 znver4 # the next iteration reads the same
few batch_matmul.yaml:gmm_512x32 4 x86-64-v3 # rows have pointers, not indices
few conv2d.yaml:resnet18_c12 12 x86-64-v3 # sums under two `if`
few conv2d.yaml:resnet18_c3 20 x86-64-v3 # all registers are in use

# LLVM loads nothing ahead of the piece of a loop that uses it
ok builds-pieces "$TUNEC" build -q "$workloads/dilated.yaml:dil_3" --db none \
	--target "llvm -mcpu=znver5 -threads=1" -o k.o
ok few-pieces test "$(stack k.o)" -le 40

# u8 of 32 lanes that become f32: in parts, each of a machine's vector
cat >wide.yaml <<'END'
tunec: 1
name: wide
inputs: {x: 'u8[4096, 3]'}
compute: |
  y[i < 4096, c < 3] = u8(clamp(1.5*f32(x[i, c]) - 0.3*f32(x[i, 2 - c]), 0, 255))
END
for cpu in znver4 x86-64-v3; do
	ok "builds-wide-$cpu" "$TUNEC" build -q wide.yaml \
		--target "llvm -mcpu=$cpu -threads=1" -o wide.c -o wide.s
	[ $cpu = znver4 ] && most=64 || most=32
	ok "no-wider-$cpu" awk -v most=$most 'match($0, /vector_size\([0-9]+/) {
		wide = wide || substr($0, RSTART + 12, RLENGTH - 12) + 0 > most
	}
	END {exit wide}' wide.c
done

# What a definition clamps to the type's ends is not clamped again, nor is it a NaN.
# once TYPE LEAST GREATEST
once() {
	cat >clamp.yaml <<-END
		tunec: 1
		name: once
		inputs: {x: 'f32[4096]'}
		compute: |
		  y[i < 4096] = $1(clamp(x[i]*3, $2, $3))
	END
	ok "builds-clamped-$1" "$TUNEC" build -q clamp.yaml \
		--target 'llvm -mcpu=x86-64-v3 -threads=1' -o clamp.s
	ok "clamped-once-$1" sh -c '[ "$(grep -c vminps clamp.s)" = \
		"$(grep -c vmaxps clamp.s)" ] && ! grep -q "vcmp.*ps" clamp.s &&
		[ "$(grep -c vminps clamp.s)" = "$(grep -c vcvttps2dq clamp.s)" ]'
}
once i8 -128 127
once u8 0 255

# With AVX-512 conditions are bits: no vector is made of a comparison and no bits
# of a vector.  To a compiler that is not for x86-64 they are vectors, and right.
cat >masks.yaml <<'END'
tunec: 1
name: masks
inputs: {x: 'f32[100, 37]', u: 'u8[100, 37]', b: 'bool[37]'}
compute: |
  place[i < 100] = argmax[k < 37](x[i, k])
  part[i < 100, k < 37] = x[i, k]/max[j < 37](x[i, j])
  pick[i < 100, k < 37] = if b[k] and not x[i, k] < 0 then x[i, k] else f32(u[i, k])
outputs: [place, part, pick]
END
cat >bytes.yaml <<'END'
tunec: 1
name: bytes
inputs: {x: 'f64[100, 37]', u: 'u8[100, 37]', b: 'bool[37]'}
compute: |
  less[i < 100, k < 37] = (u[i, k] < u8(9)) != b[k] or x[i, k] <= 0
  wide[i < 100, k < 37] = if u[i, k] < u8(9) then x[i, k] else 0
  some[i < 100] = max[k < 37](x[i, k] < 0)
  count[i < 100] = sum[k < 37](i32(x[i, k] < 0 and b[k]))
outputs: [less, wide, some, count]
END
ok builds-masks "$TUNEC" build -q masks.yaml bytes.yaml --emit=c,main \
	--target 'llvm -mcpu=x86-64-v4 -threads=1' -o masks.c
ok builds-bits "$TUNEC" build -q masks.yaml \
	--target 'llvm -mcpu=x86-64-v4 -threads=1' -o bits.c
ok bits sh -c 'gcc -O2 -Wall -Wextra -Werror -S bits.c -o - |
	awk "/vpmov[bwdq]2m|vpmovm2[bwdq]/ {n++} END {exit n > 0}"'
ok generic gcc -O1 -Wall -Wextra -Werror -DTUNEC_GENERIC -c masks.c -o generic.o
grep -q avx512vl /proc/cpuinfo && gcc -O1 -c masks.c -o masks.o
for name in masks bytes; do
	ok "generic-$name" gcc -O1 $unclocked -Wall -Wextra -Werror generic.o ${name}_main.c \
		-lm -o generic
	ok "generic-$name-right" ./generic
	[ -f masks.o ] || continue
	ok "bits-$name" gcc -O1 $unclocked masks.o ${name}_main.c -lm -o run
	ok "bits-$name-right" ./run
done

# Every second lane of two vectors of AVX2 is one shuffle and one permutation.
cat >second.yaml <<'END'
tunec: 1
name: second
inputs: {x: 'f32[64, 1024]'}
compute: |
  y[i < 64, j < 512] = max(x[i, 2*j], x[i, 2*j + 1])
END
ok builds-second "$TUNEC" build -q second.yaml \
	--target 'llvm -mcpu=x86-64-v3 -threads=1' -o second.c
ok second-lanes sh -c 'gcc -O2 -Wall -Wextra -Werror -S second.c -o - |
	awk "/vshufps/ {n++} /vpermd|vblendps/ {m++} END {exit !n || m}"'

# Numbers of lanes are converted as vectors, which AVX2 has for i32 alone.
printf '%s\n' 'tunec: 1' 'name: ramp' 'inputs: {x: "f32[4096]"}' 'compute: |' \
	'  y[i < 4096] = x[i]*f32(i) + f32(4095 - i)' >ramp.yaml
for cpu in x86-64-v3 x86-64-v4; do
	ok "builds-ramp-$cpu" "$TUNEC" build -q ramp.yaml \
		--target "llvm -mcpu=$cpu -threads=1" -o ramp.s
	ok "ramp-by-vectors-$cpu" [ "$(grep -c cvtsi2ss ramp.s)" = 0 ]
	ok "ramp-of-words-$cpu" [ "$(grep -c cvtqq2ps ramp.s)" = 0 ]
done

# Indices that data gives are clamped one by one, as scalars.
for cpu in x86-64-v3 x86-64-v4; do
	ok "builds-bag-$cpu" "$TUNEC" build -q \
		"$root"/test/bench/families/*/embedding_bag.yaml \
		--target "llvm -mcpu=$cpu -threads=1" -o bag.c
	for cc in gcc clang-14; do
		command -v $cc >/dev/null || continue
		$cc -O2 -Wall -Wextra -Werror -S bag.c -o bag.s
		ok "bag-by-scalars-$cpu-$cc" \
			[ "$(grep -cE 'vmovq|vpextrq' bag.s)" = 0 ]
	done
done

# What hardly any lane needs is known to be rare.
printf '%s\n' 'tunec: 1' 'name: wave' 'inputs: {x: "f32[4096]"}' 'compute: |' \
	'  y[i < 4096] = sin(x[i])' >wave.yaml
ok builds-wave "$TUNEC" build -q wave.yaml \
	--target 'llvm -mcpu=x86-64-v3 -threads=1' -o wave.c
ok wave-is-rarely-far [ "$(grep -c 'if (__builtin_expect(' wave.c)" != 0 ]

# A filter's taps of 0 and 1 multiply nothing; remainders are of whole vectors.
ok builds-taps "$TUNEC" build -q "$root"/test/bench/families/*/bilinear_u8.yaml \
	--target 'llvm -mcpu=x86-64-v3 -threads=1' -o taps.c
ok taps-of-0-and-1 [ "$(grep -cE 'I16X8\([01]\)' taps.c)" = 0 ]
printf '%s\n' 'tunec: 1' 'name: wrap' 'inputs: {x: "f32[40, 76]"}' 'compute: |' \
	'  y[i < 40, j < 76] = x[i, (7*j + i) % 76]' >wrap.yaml
ok builds-wrap "$TUNEC" build -q wrap.yaml \
	--target 'llvm -mcpu=x86-64-v3 -threads=1' -o wrap.c
ok wrap-by-vectors sh -c 'gcc -O2 -Wall -Wextra -Werror -S wrap.c -o - |
	awk "/vpmul/ {n++} END {exit !n}"'

# So are borders of a loop of few vectors that reads every second element.
printf '%s\n' 'tunec: 1' 'name: half' 'inputs: {x: "u8[40, 152]"}' 'compute: |' \
	'  y[i < 40, j < 76] = max(x[i, max(2*j - 1, 0)], x[i, min(2*j + 2, 151)])' \
	>half.yaml
ok builds-half "$TUNEC" build -q half.yaml \
	--target 'llvm -mcpu=x86-64-v4 -threads=1' -o half.s
ok half-by-vectors [ "$(grep -cE 'vpinsrb|vpextrq' half.s)" = 0 ]

# A vector that is read twice is loaded once.
# reads FILE: of whole vectors
reads() {
	objdump -d --no-show-raw-insn "$1" | grep -c '(%r[^s].*,%[yz]mm'
}
ok builds-again "$TUNEC" build -q "$root"/test/bench/families/*/sobel.yaml \
	--target 'llvm -mcpu=znver4 -threads=1' -o again.c -o again.o
gcc -O2 -Wall -Wextra -Werror -c again.c -o c.o
ok loads-once test "$(reads c.o)" -le $(($(reads again.o) + 4))
