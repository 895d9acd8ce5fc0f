#!/bin/bash
# Kernels of AMD's GPUs, without one: every workload by LLVM alone, linked where
# there is an lld; what LLVM says of each kernel; what is refused.
. "$(dirname "$0")/lib.sh"
target='hip -arch=gfx90a'
odd=$workloads/matmul.yaml:odd
build() { # SPEC ARCH KINDS
	"$TUNEC" build -q "$1" --target "hip -arch=$2" --emit="$3" --db none
}
lld=$(command -v ld.lld-19 || command -v ld.lld || ls \
	"${ROCM_PATH:-/opt/rocm}/llvm/bin/ld.lld" 2>/dev/null)
kinds=s,h
if [ -n "$lld" ]; then
	kinds=hsaco,s,h
else
	echo '# ld.lld is not here: nothing is linked'
fi

macros() { # HEADER NAME: of all its kernels
	awk -v name="_$2\$" '$1 == "#define" && $2 ~ name { print $3 }' "$1"
}
said() { # ASSEMBLY KEY: of all its kernels
	awk -v key=".$2:" '/^---/ { on = 1 } on && $1 == key { print $2 }' "$1"
}
agrees() { # NAME: the header's numbers are those of the kernels
	[ "$(macros "$1.h" 'K[0-9]*_SHARED_BYTES')" = \
		"$(said "$1.s" group_segment_fixed_size)" ] &&
		[ "$(macros "$1.h" KERNELS)" = \
			"$(said "$1.s" symbol | wc -l)" ]
}
# The other width of waves has every fourth, but where there is time.
for arch in gfx90a gfx1030; do
	many=75 n=0
	for spec in "$workloads"/*.yaml; do
		if [ $arch = gfx1030 ] && [ "${TIER:-}" != long ] &&
			[ $((n++ % 4)) != 0 ]; then
			many=$((many - $("$TUNEC" check --json "$spec" | wc -l)))
			continue
		fi
		ok "$arch-of-$(basename "$spec" .yaml)" build "$spec" $arch $kinds
	done
	ok "$arch-all-cases-are-there" [ "$(ls ./*.s | wc -l)" = $many ]
	bad=
	for f in *.s; do agrees "${f%.s}" || bad="$bad $f"; done
	ok "$arch-headers-agree$bad" [ -z "$bad" ]
	ok "$arch-is-said" has softmax_odd.s "amdhsa--$arch\$"
	[ $arch = gfx1030 ] || ok "$arch-no-spills" sh -c \
		'! grep -l "^ *\.vgpr_spill_count: *[1-9]" ./*.s'
	[ -z "$lld" ] || ok "$arch-all-are-linked" \
		[ "$(grep -la '^.ELF' ./*.hsaco | wc -l)" = $many ]
	[ $arch = gfx1030 ] || mkdir first
	[ $arch = gfx1030 ] || mv ./*.s ./*.h ${lld:+./*.hsaco} first
done
ok wave-of-64 [ "$(said first/softmax_odd.s wavefront_size)" = 64 ]
ok wave-of-32 [ "$(said softmax_odd.s wavefront_size)" = 32 ]
ok barrier has first/matmul_square_512.s '^	s_barrier$'
# all that is on its way has arrived before others may read it
ok waits-at-barriers sh -c "grep -B 1 '^	s_barrier' first/matmul_square_512.s |
	grep -q 's_waitcnt.*lgkmcnt(0)'"
ok exchanges has first/softmax_odd.s 'swizzle\|_dpp'
ok no-hidden-arguments lacks first/matmul_square_512.s 'value_kind: *hidden'
ok one-kernel [ "$(said first/softmax_odd.s symbol)" = softmax_odd_k0.kd ]
for arch in gfx906 gfx908 gfx942 gfx1100; do
	ok "$arch-builds" build "$odd" $arch $kinds
	ok "$arch-is-said" has matmul_odd.s "amdhsa--$arch\$"
done

if [ -n "$lld" ] && command -v llvm-readelf-19 >/dev/null; then
	llvm-readelf-19 --dyn-symbols --file-header first/matmul_square_512.hsaco >elf
	ok descriptor has elf 'OBJECT .* matmul_square_512_k0\.kd$'
	ok entry has elf 'FUNC .* matmul_square_512_k0$'
	ok its-machine has elf 'EM_AMDGPU$'
	ok its-arch has elf 'gfx90a'
fi
if [ -n "$lld" ]; then
	ok again "$TUNEC" build -q "$odd" --target "$target" --db none \
		-o a.hsaco -o b.hsaco
	ok no-name-gets-in cmp a.hsaco b.hsaco
	ok product-of-sizes "$TUNEC" build -q "$odd" --target "$target" \
		--db none -o all.hsaco -o all.ll -o all.bc -o all.c -o all.h
else
	ok product-of-sizes "$TUNEC" build -q "$odd" --target "$target" \
		--db none -o all.ll -o all.bc -o all.c -o all.h
fi
ok kernel has all.ll 'define amdgpu_kernel void @matmul_odd_k0(ptr addrspace(1)'
printf '#include "all.h"\n' >one.cpp
ok packs-compile cc -std=c11 -Wall -Wextra -Werror -c all.c
cxx=c++
command -v c++ >/dev/null || cxx='clang-14 -x c++' # is installed without
ok header-as-cxx $cxx -Wall -Wextra -Werror -fsyntax-only one.cpp

# Other linkers' places, and none.
mkdir -p rocm/llvm/bin bin away
printf '#!/bin/sh\necho "ld.lld: error: no such thing" >&2\nexit 1\n' \
	>rocm/llvm/bin/ld.lld
chmod +x rocm/llvm/bin/ld.lld
for tool in sh cc; do ln -s "$(command -v $tool)" bin; done
PATH=$tmp/bin ROCM_PATH=$tmp/rocm exits refused-object 1 "$TUNEC" build -q \
	"$odd" --target "$target" --db none -o k.hsaco
ok refusal-is-said has err 'ld.lld: no such thing'
ok nothing-is-written absent k.hsaco
if [ ! -e /opt/rocm/llvm/bin/ld.lld ]; then
	PATH=$tmp/bin ROCM_PATH=$tmp exits no-lld 1 "$TUNEC" build -q "$odd" \
		--target "$target" --db none -o k.hsaco
	ok says-how-to-get-it has err 'ld.lld is missing: .* lld-19'
	PATH=$tmp/bin ROCM_PATH=$tmp exits target-without 0 "$TUNEC" target
	ok target-says-so has out 'hip  *works: .* ld.lld (missing: '
	PATH=$tmp/bin ROCM_PATH=$tmp exits assembly-without 0 "$TUNEC" build \
		-q "$odd" --target "$target" --db none -o k.s
fi

exits no-ptx 1 build "$odd" gfx90a ptx
ok says-who-has-ptx has err "take 'cuda -arch=sm_90'"
exits no-hsaco-of-cuda 1 "$TUNEC" build -q "$odd" --target 'cuda -arch=sm_90' \
	--emit=hsaco --db none
ok says-what-cuda-has has err 'gives .ptx, .cubin'
exits no-hsaco-of-a-cpu 1 "$TUNEC" build -q "$odd" --emit=hsaco --db none \
	--target 'llvm -mcpu=x86-64'
ok says-who-has-hsaco has err "take 'hip -arch=gfx90a'"
for kind in o so cl cu cubin main; do
	exits "no-$kind" 1 build "$odd" gfx90a $kind
done
exits unknown-arch 2 build "$odd" gfx900 hsaco
ok known-ones-are-named has err 'gfx906, gfx908'
exits no-c-to-show 1 "$TUNEC" show "$odd" --target "$target" --stage=c --db none
ok asm-is-shown sh -c "'$TUNEC' show '$odd' --target '$target' --stage=asm \
	--db none | grep -q 's_endpgm'"
exits does-not-run 0 "$TUNEC" target "$target"
ok and-why has out "does not run here: .*built for, not measured"
exits not-tuned 1 "$TUNEC" tune "$odd" --target "$target" --trials 2 --db none
ok not-measured has err 'built for, not measured'
