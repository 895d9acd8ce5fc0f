#!/bin/sh
# A virtual environment with NVIDIA's assembler and run-time compiler, as wheels:
# venv.sh FOLDER.  Does nothing where it is there; fails where it cannot be had.
set -eu
folder=$1
[ ! -x "$folder/bin/ptxas" ] || exit 0
python3 -m venv "$folder" 2>/dev/null ||
	{ test/tools/deps.sh python3-venv >/dev/null 2>&1 &&
		python3 -m venv "$folder"; }
"$folder/bin/pip" install -q --disable-pip-version-check \
	nvidia-cuda-nvcc nvidia-cuda-nvrtc
for ptxas in "$folder"/lib/python*/site-packages/nvidia/*/bin/ptxas; do
	chmod +x "$ptxas"
	ln -sf "$(realpath "$ptxas")" "$folder/bin/ptxas"
done
[ -x "$folder/bin/ptxas" ]
