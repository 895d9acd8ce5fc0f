#!/bin/sh
# make demo: a convolution of ResNet-18 is tuned for a minute (TIME=60s), built
# from the log by a Makefile as a user has one, linked into a C program, checked
# and timed.  All in $BUILD/demo; a second run finds the records there.
set -eu
cd "$(dirname "$0")/../.."
build=$PWD/${BUILD:-build}
export TUNEC="$build/tunec" TUNEC_MODULES="$build"
unset TUNEC_DB TUNEC_TARGET TUNEC_MACHINE MAKEFLAGS MFLAGS MAKELEVEL
mkdir -p "$build/demo"
cp -p demo/Makefile demo/demo.c workloads/conv2d.yaml "$build/demo"
cd "$build/demo"

say() {
	printf '$ %s\n' "$*"
	"$@"
}

say "$TUNEC" tune conv2d.yaml:resnet18_c6 --time "${TIME:-60s}" --db tunec.jsonl
# The same operator under another name, built as if there were no record.
sed 's/^name: .*/name: untuned/' conv2d.yaml >untuned.yaml
"$TUNEC" build -q untuned.yaml:resnet18_c6 --db none.jsonl \
	-o untuned.o -o untuned.h 2>/dev/null
say make -o untuned.o TUNEC="$TUNEC" demo
say ./demo
