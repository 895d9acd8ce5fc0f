#!/bin/bash
# The emitted C passes -Wall -Wextra -Werror by gcc and clang where an operator
# says what is always so, or never: for the plain C and for narrow and wide
# vectors, and it is right.  Random programs: test/diff/test_pairs.c.
. "$(dirname "$0")/lib.sh"

# NAME | inputs | compute
list() {
	cat <<-'END'
	same | x: 'f32[7]' | y[i < 7] = if i32(i) == i32(i) then x[i] else 0
	same_sum | x: 'f32[7, 9]' | y[i < 7] = sum[k < 9](if i32(k) != i32(k) then x[i, k] else 1)
	never_whole | x: 'f32[9]' | y[i < 9] = if 4*i != 14 and x[i] <= 1 then x[i] else 0
	less | x: 'i32[64]' | y[i < 64] = x[i] < x[i]
	less_u8 | x: 'u8[7]' | y[i < 7] = x[i] < x[i] or x[i] != x[i]
	less_f32 | x: 'f32[]' | y[] = if x[] < x[] then 1.0 else 2.0
	never_bits | x: 'i32[7]' | y[i < 7] = if bit_and(x[i], 3) == 8 then x[i] else 1
	less_itself | x: 'u64[7]' | y[i < 7] = if x[i] < x[i] - x[i] then x[i] else u64(1)
	less_number | x: 'u64[]' | y[i < 7] = if x[] > u64(1) then x[] else u64(u64(7) - u64(7) > -u64(15))
	least | x: 'u8[1]' | y[] = min(x[0], u8(0))
	greatest | x: 'u8[9]' | y[i < 9] = clamp(x[i], u8(0), u8(255))
	least_i16 | x: 'i16[9]' | y[i < 9] = max(min(x[i], i16(32767)), i16(-32768))
	never | x: 'f32[8, 8]' | y[i < 8] = sum[k < 8](if k > 9 then x[i, k] else 0)
	never_data | x: 'f32[64, 64]', z: 'i32[64]' | y[i < 64] = sum[k < 64](if z[i] < z[i] then x[i, k] else 0)
	never_max | x: 'u8[64, 64]' | y[i < 64] = max[k < 64](if x[i, k] < x[i, k] then x[i, k] else u8(0))
	never_place | x: 'f32[8, 64]' | y[i < 8] = argmax[k < 64](if k > 99 then x[i, k] else 0)
	END
}

while IFS='|' read -r name inputs compute; do
	name=${name// /}
	printf 'tunec: 1\nname: %s\ninputs: {%s}\ncompute: |\n  %s\n' \
		"$name" "$inputs" "$compute" >"$name.yaml"
done < <(list)
for target in c 'llvm -mcpu=x86-64' 'llvm -mcpu=x86-64-v3' \
	'llvm -mcpu=x86-64-v4' host; do
	cpu=${target##*=}
	ok "builds-$cpu" "$TUNEC" build -q ./*.yaml --target "$target" -o k.c \
		--emit=c,main
	for cc in gcc clang-14; do
		command -v $cc >/dev/null || continue
		ok "silent-$cpu-$cc" $cc -O2 -std=c11 -fopenmp -Wall -Wextra \
			-Werror -c k.c
	done
done
# accumulators of pixels that lie outside, in a piece of their own
ok builds-pieces "$TUNEC" build -q "$root/workloads/conv2d.yaml:resnet18_c5" \
	--target 'llvm -mcpu=x86-64-v3 -threads=1' -o pieces.c
for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	ok "silent-pieces-$cc" $cc -Wall -Wextra -Werror -fsyntax-only pieces.c
done
# lanes of which the padded row holds no four: they are never all inside
mkdir never
cat >never/inside.yaml <<'END'
tunec: 1
name: never_inside
inputs: {x: 'f32[2, 3]', w: 'const f32[3, 3]'}
compute: |
  p[y < 4, j < 5] = if 1 <= y < 3 and 1 <= j < 4 then x[y - 1, j - 1] else 0
  z[j < 2] = sum[r < 3, q < 3](p[r, j*2 + q]*w[r, q])
outputs: [z]
END
cat >never/inside.trace <<'END'
compute_at(p, inline)
z_q0, z_q1 = split(z.q, [_, 4])
vectorize(z_q1, 4)
END
ok builds-never-inside "$TUNEC" build -q never/inside.yaml --target c \
	--trace never/inside.trace -o never/inside.c
for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	ok "silent-never-inside-$cc" $cc -Wall -Wextra -Werror -fsyntax-only \
		never/inside.c
done
for main in *_main.c; do
	name=${main%_main.c}
	ok "silent-main-$name" cc -O1 $unclocked -Wall -Wextra -Werror "$main" k.c -fopenmp \
		-lm -o run
	ok "right-$name" ./run
	command -v clang-14 >/dev/null || continue
	ok "silent-main-$name-clang" clang-14 -Wall -Wextra -Werror \
		-fsyntax-only "$main"
done
