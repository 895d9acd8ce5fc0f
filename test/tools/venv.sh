#!/bin/sh
# A virtual environment with the packages that are named, or else with NVIDIA's
# assembler and run-time compiler, as wheels: venv.sh FOLDER [PACKAGE...].  Does
# nothing where all is there; fails where it cannot be had.
set -eu
folder=$1
shift
there() { # PACKAGE: whether its wheel is unpacked
	name=$(echo "$1" | tr - _)
	for info in "$folder"/lib/python*/site-packages/"$name"-[0-9]*.dist-info; do
		[ -e "$info" ] && return
	done
	return 1
}
assembler=
[ $# -gt 0 ] || { assembler=1; set -- nvidia-cuda-nvcc nvidia-cuda-nvrtc; }
missing=
for p; do
	there "$p" || missing=1
done
[ -n "$missing" ] || { [ -n "$assembler" ] && [ ! -x "$folder/bin/ptxas" ]; } ||
	exit 0
[ -x "$folder/bin/pip" ] || python3 -m venv "$folder" 2>/dev/null ||
	{ test/tools/deps.sh python3-venv >/dev/null 2>&1 &&
		python3 -m venv "$folder"; }
"$folder/bin/pip" install -q --disable-pip-version-check "$@"
[ -n "$assembler" ] || exit 0
for ptxas in "$folder"/lib/python*/site-packages/nvidia/*/bin/ptxas; do
	chmod +x "$ptxas"
	ln -sf "$(realpath "$ptxas")" "$folder/bin/ptxas"
done
[ -x "$folder/bin/ptxas" ]
