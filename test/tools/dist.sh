#!/bin/bash
# make dist: a folder and a tarball of tunec that need nothing but a C library:
#
#     $BUILD/tunec-VERSION-MACHINE.tar.xz
#         bin/tunec   lib/tunec/ modules, libraries   workloads/   selftest
#
# LLVM is linked into its module, with the targets that tunec has; LLVM=0 leaves
# it out.  What other libraries there are is copied, with their licences.
# dist.sh VERSION OBJECTS LIBRARIES LLVM_OBJECTS
set -euo pipefail
version=$1 objects=$2 libraries=$3 llvm_objects=$4
config=${LLVM_CONFIG:-llvm-config-19} cc=${CC:-cc}
name=tunec-$version-$(uname -m) root=$BUILD/dist/$name
# of the C library, which every Linux has
own='linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt'

rm -rf "$root"
mkdir -p "$root/bin" "$root/lib/tunec" "$root/licences"
link() { # FILE PATH-TO-LIBRARIES …: the path holds for what they need, too
	# shellcheck disable=SC2086
	$cc -s -o "$1" "-Wl,--disable-new-dtags,-rpath,\$ORIGIN$2" "${@:3}"
}
# shellcheck disable=SC2086
link "$root/bin/tunec" /../lib/tunec "-Wl,--dynamic-list=$BUILD/exports" $objects $libraries
link "$root/lib/tunec/tunec-xgboost.so" '' -shared \
	"$BUILD/obj/tuner/model/module_xgboost.o" -lxgboost
if [ "${LLVM:-1}" != 0 ]; then
	parts='x86 aarch64 nvptx amdgpu passes orcjit bitwriter irreader'
	# shellcheck disable=SC2046,SC2086
	link "$root/lib/tunec/tunec-llvm.so" '' -shared $llvm_objects \
		-Wl,--gc-sections,--exclude-libs,ALL,--as-needed \
		$($config --link-static --ldflags --libs $parts) \
		-lffi -l:libz.so.1 -l:libzstd.so.1 -l:libtinfo.so.6 -l:libxml2.so.2 \
		-lrt -ldl -lm -lstdc++
fi

# What these need, and what that needs.
for file in "$root"/bin/tunec "$root"/lib/tunec/*.so; do ldd "$file"; done |
	awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
	while read -r library path; do
		[[ $library =~ ^($own)\.so ]] && continue
		[[ $path = *"$root"* ]] && continue
		cp -L "$path" "$root/lib/tunec/$library"
		package=$(dpkg-query -S "*/$(basename "$path")" 2>/dev/null |
			head -n 1 | cut -d: -f1) || true
		[ -z "$package" ] || cp -L "/usr/share/doc/$package/copyright" \
			"$root/licences/$package" 2>/dev/null || true
	done
cp LICENSE README.md "$root"
cp -r workloads "$root"
install -m 755 test/tools/selftest.sh "$root/selftest"
tar -C "$BUILD/dist" --sort=name --owner=0 --group=0 --numeric-owner \
	-cf - "$name" | xz "-${XZ:-6}" -T0 >"$BUILD/$name.tar.xz"
du -k "$BUILD/$name.tar.xz" | awk '{ printf "%s: %.1f MB\n", $2, $1/1024 }'
