#!/bin/bash
# Kernels built by make: the rules of docs/manual.md and of demo/Makefile run
# tunec when the spec or the log is newer, once, and what tunec left untouched
# is not linked again.  The rules are read from there, not copied.
. "$(dirname "$0")/lib.sh"
real=$TUNEC

# A tunec that notes each run; a compiler that does.
mkdir bin
cat >bin/tunec <<END
#!/bin/sh
echo "\$*" >>"$tmp/runs"
exec "$real" "\$@"
END
cat >bin/link <<END
#!/bin/sh
echo "\$*" >>"$tmp/links"
exec cc "\$@"
END
chmod +x bin/*
PATH=$tmp/bin:$PATH
export TUNEC=$tmp/bin/tunec

# Make's own variables are not passed on from the make that runs the tests.
made() { # name, runs of tunec, links wanted, make's arguments
	local name=$1 runs=$2 links=$3 got
	shift 3
	: >"$tmp/runs"
	: >"$tmp/links"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make CC=link "$@" \
		>"$tmp/made" 2>&1
	got="exit $?, $(wc -l <"$tmp/runs") runs, $(wc -l <"$tmp/links") links"
	if [ "$got" = "exit 0, $runs runs, $links links" ]; then
		echo "ok $name"
	else
		echo "not ok $name: $got, not $runs and $links:" \
			"$(tail -n 3 "$tmp/made" | tr '\n' ' ')"
	fi
}
newer() { # file: than all that make has written
	sleep 0.05
	touch "$1"
}
first_trial() { # log
	grep -m 1 '"outcome":"ok"' "$1"
}
last_trial() {
	grep '"outcome":"ok"' "$1" | tail -n 1
}

cat >mm.yaml <<'END'
tunec: 1
name: mm
params: {M: 33, N: 40, K: 29}
inputs: {a: "f32[M, K]", b: "const f32[K, N]"}
compute: |
  c[i < M, j < N] = sum[k < K](a[i, k]*b[k, j])
END
sed 's/name: mm/name: nn/; s/M: 33/M: 17/' mm.yaml >nn.yaml
sed 's/k, j\])/&*2/' mm.yaml >double.yaml
records() { # spec, trials
	"$real" tune -q "$1" --trials "$2" --db "$1.jsonl" >said 2>&1 ||
		cat said
}
records mm.yaml 6
records nn.yaml 1
records double.yaml 1
for spec in mm nn double; do
	first_trial $spec.yaml.jsonl
done >log.jsonl

# --- the manual's rules -------------------------------------------------------
cat >main.c <<'END'
#include "mm.h"
#include "nn.h"
int main(void)
{
	return MM_WORKSPACE_BYTES + NN_WORKSPACE_BYTES < 0;
}
END
cat >Makefile <<'END'
main: main.c mm.o mm.h nn.o nn.h
	$(CC) -o $@ main.c mm.o nn.o -fopenmp -lm
END
awk '/^In a Makefile:/ {on = 1; next}
	on && /^    /{print substr($0, 5); seen = 1; next}
	seen && !/^$/ {exit}' "$root/docs/manual.md" >>Makefile
ok manual-has-rules grep -q '^%.o' Makefile
made manual-builds 2 1 -j2
made manual-nothing-to-do 0 0
newer mm.yaml
made manual-touched-spec 1 0
made manual-touched-spec-once 0 0
newer log.jsonl
made manual-touched-log 2 0
made manual-touched-log-once 0 0
newer mm.yaml
newer nn.yaml
made manual-parallel 2 0 -j2
made manual-parallel-once 0 0 -j2
cp mm.yaml single.yaml
cp double.yaml mm.yaml
made manual-changed-spec 1 1
made manual-changed-spec-once 0 0
cp single.yaml mm.yaml
made manual-changed-back 1 1
for trial in last first; do
	${trial}_trial mm.yaml.jsonl >log.jsonl
	first_trial nn.yaml.jsonl >>log.jsonl
	made manual-$trial-record 2 1
	made manual-$trial-record-once 0 0
done
rm mm.h mm.stamp
made manual-lost-output 1 1
made manual-lost-output-once 0 0

# --- demo/Makefile ------------------------------------------------------------
# Smaller, so that tuning takes no time: it is linked, not run.
mkdir demo
cd demo || exit 1
cp "$root/demo/Makefile" "$root/demo/demo.c" .
sed 's/^  \(H\|W\): .*/  \1: 6/; s/^  C\(I\|O\): .*/  C\1: 16/' \
	"$workloads/conv2d.yaml" >conv2d.yaml
sed 's/^name: .*/name: untuned/' conv2d.yaml >untuned.yaml
"$real" tune -q conv2d.yaml:resnet18_c6 --trials 4 --db full.jsonl \
	>said 2>&1 || cat said
first_trial full.jsonl >tunec.jsonl
"$real" build -q untuned.yaml:resnet18_c6 --db none.jsonl \
	-o untuned.o -o untuned.h 2>said || cat said
demo() { # name, runs, links
	made "demo-$1" "$2" "$3" -o untuned.o demo
}
demo builds 1 1
demo nothing-to-do 0 0
newer conv2d.yaml
demo touched-spec 1 0
demo touched-spec-once 0 0
last_trial full.jsonl >tunec.jsonl
demo other-record 1 1
demo other-record-once 0 0
