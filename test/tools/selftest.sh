#!/bin/sh
# Does this tunec work here?  Shows what it finds, then tunes a small product for
# each target that runs here, checks it, and replays the record.
cd "$(dirname "$0")" || exit
tunec=$PWD/bin/tunec module=$PWD/lib/tunec/tunec-llvm.so spec=$PWD/workloads/matmul.yaml:odd
folder=$(mktemp -d) bad=0
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit
ok() { # NAME COMMAND…
	name=$1
	shift
	if "$@" >said 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name: $(tail -n 3 said | tr '\n' ' ')"
		bad=1
	fi
}
"$tunec" target
works() { "$tunec" target | grep -q "^[a-z ]*  $1  *works"; }
ok checks "$tunec" check "$spec"
ok c "$tunec" build -q "$spec" --target c --db none -o k.c -o k.h
ok opencl-c "$tunec" build -q "$spec" --target opencl --db none -o k.cl
ok cuda-c "$tunec" build -q "$spec" --target 'cuda -arch=sm_90' --db none -o k.cu
# Where its module came along it has to work.
[ ! -e "$module" ] || ok llvm works llvm
for target in llvm opencl; do
	if ! works llvm || ! works $target; then # LLVM says what is right
		echo "skip $target: it does not work here"
		continue
	fi
	[ $target = llvm ] && text=host || text=$target
	[ $target = llvm ] && ok ptx "$tunec" build -q "$spec" \
		--target 'cuda -arch=sm_90' --db none -o k.ptx
	ok tunes-$target "$tunec" tune "$spec" --target $text --trials 6 \
		--db $target.jsonl
	ok replays-$target "$tunec" replay "$spec" --db $target.jsonl \
		--require-run
done
exit $bad
