#!/bin/bash
# make install and uninstall, below any folder.
. "$(dirname "$0")/lib.sh"
made() { # TARGET VARIABLE...
	make -s --no-print-directory -C "$root" B="$BUILD" \
		VARIANT="${VARIANT:-release}" "$@"
}
files() { # below a folder, but not the folders
	find "$1" ! -type d | wc -l
}
prefix="$tmp/its user's/a  b"
exits installs 0 made install PREFIX="$prefix"
ok program-is-there "$prefix/bin/tunec" --version
# Modules are looked for beside the program.
ok module-is-found env -u TUNEC_MODULES "$prefix/bin/tunec" build -q \
	"$workloads/matmul.yaml:odd" --db none -o k.o
mkdir -p "$prefix/lib/another" && touch "$prefix/lib/another/file"
exits uninstalls 0 made uninstall PREFIX="$prefix"
ok takes-its-own-away [ "$(files "$prefix")" = 1 ]
ok keeps-what-is-not-its-own [ -e "$prefix/lib/another/file" ]
ok takes-its-folder-away absent "$prefix/lib/tunec"
exits uninstalls-what-is-not-there 0 made uninstall PREFIX="$prefix"

exits below-destdir 0 made install DESTDIR="$tmp/a package" PREFIX=/usr
ok staged [ -x "$tmp/a package/usr/bin/tunec" ]
exits out-of-destdir 0 made uninstall DESTDIR="$tmp/a package" PREFIX=/usr
ok nothing-staged [ "$(files "$tmp/a package")" = 0 ]

# What --version says is compiled again where it changed.
ok commit-is-compiled sh -c 'make -n -C "$0" B="$BUILD" COMMIT=another \
	VARIANT="${VARIANT:-release}" "$BUILD/tunec" | grep -q "another.*cmd/main.c"' "$root"
