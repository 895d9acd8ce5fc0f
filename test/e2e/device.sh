#!/bin/bash
# Tuning on a device of OpenCL: from a file to a record, a replay, a build; what a
# driver does wrong; what is said where there is none.  Without one it is skipped.
. "$(dirname "$0")/lib.sh"
mkdir pocl none own
export POCL_CACHE_DIR=$tmp/pocl # of PoCL's compiler: nothing outside is written
export TMPDIR=$tmp/own
spec=$workloads/softmax.yaml:sfm_256

# Without a driver: said, nothing stored, other verbs as ever.
no_driver() { OCL_ICD_VENDORS=$tmp/none "$TUNEC" "$@"; }
exits no-driver 1 no_driver tune "$spec" --target opencl --trials 3 --db no.db
ok no-driver-says-what-to-install has err 'ocl-icd-libopencl1\|pocl-opencl-icd'
ok no-driver-stores-nothing absent no.db
ok no-driver-target no_driver target
ok no-driver-builds no_driver build -q "$spec" --target opencl --db no.db -o k.cl
ok no-driver-is-a-gpu has k.cl 'target: opencl -device=gpu'
printf '# plain loops\n' >plain.trace
exits no-driver-replay 0 no_driver replay "$spec" --trace plain.trace \
	--target 'opencl -device=cpu'
ok no-driver-not-run has out '1 not run here'

if ! "$TUNEC" target --json | grep -q '"through":"opencl","type":"cpu"'; then
	echo '# OpenCL has no CPU here: nothing is tuned on it'
	exit
fi
target='opencl -device=cpu'

# tune, best, build, replay
exits tunes 0 "$TUNEC" tune "$spec" --target "$target" --trials 3 --db a.jsonl
count() { grep -c "$2" "$1"; } # file, pattern
ok trials [ "$(count a.jsonl '"round":"search"')" = 3 ]
ok all-ok lacks a.jsonl '"outcome":"\(crash\|build\|timeout\|wrong\)"'
ok target-is-the-key has a.jsonl '"target":"opencl -device=cpu"'
ok device-is-told has a.jsonl '"device":{"through":"opencl","type":"cpu","name":"'
ok driver-is-told has a.jsonl '"driver":"'
ok final-round has a.jsonl '"round":"final"'
exits covered 0 "$TUNEC" tune "$spec" --target "$target" --trials 3 --db a.jsonl
ok covered-is-said has out 'the store has 3 trials: covered'
exits frozen 0 "$TUNEC" build -q "$spec" --target "$target" --db a.jsonl \
	--frozen -o k.cl -o k.h
ok built-from-the-record has k.cl 'record: [0-9a-f]'
exits replays 0 "$TUNEC" replay "$spec" --target "$target" --db a.jsonl --measure
ok replayed has out '^1 replayed, 0 wrong, 0 slow, 0 not run here'
ok nothing-is-left [ -z "$(ls own)" ]

# constants are packed, definitions kept in a workspace; without a name the target
# is that of the device which is here
exits first-device 0 "$TUNEC" tune "$workloads/matmul.yaml:odd" \
	--target opencl --trials 1 --db b.jsonl
ok first-device-is-a-cpu has b.jsonl '"target":"opencl -device=cpu'

# A GPU's schedule is right on a CPU too, but its times are not taken there.
if ! "$TUNEC" target --json | grep -q '"through":"opencl","type":"gpu"'; then
	exits gpu-is-checked 0 "$TUNEC" replay "$workloads/matmul.yaml:odd" \
		--trace plain.trace --target 'opencl -device=gpu'
	ok gpu-is-right has out '^1 replayed, 0 wrong, 0 slow, 0 not run here'
	exits no-gpu 1 "$TUNEC" tune "$spec" --target 'opencl -device=gpu' \
		--trials 1 --db no.db
	ok no-gpu-is-said has err "no device here is what 'opencl -device=gpu' is for"
	ok no-gpu-stores-nothing absent no.db
fi

# What a driver does wrong is one trial each, with its class.
if [ "${VARIANT:-}" = sanitize ] || ! "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -Wall \
	-Werror -O1 -shared -fPIC -Wl,--no-as-needed -o faulty.so \
	"$root/test/e2e/faulty_opencl.c" -l:libOpenCL.so.1 2>said; then
	echo '# faults of a driver are not tried: no faulty one can be preloaded'
	exit
fi
faulty() { # FAULT, store
	FAULT=$1 LD_PRELOAD=$tmp/faulty.so "$TUNEC" tune "$spec" \
		--target "$target" --trials 2 --db "$2"
}
fails() { # name, fault, outcome, error
	exits "$1-ends-the-run" 1 faulty "$2" "$1.jsonl"
	ok "$1-is-said" has err "no valid trial; first failure: $3: $4"
	ok "$1-each-is-a-trial" [ "$(count "$1.jsonl" "\"outcome\":\"$3\"")" = 2 ]
}
fails crash 'crash 1' crash 'killed by signal 6'
fails lost 'lost 1' crash 'the kernel failed: CL_EXEC_STATUS_ERROR'
fails no-build 'build 1' build 'the program does not build: CL_BUILD'
fails no-memory 'memory 3' crash 'no buffer on the device: CL_MEM_OBJECT'
fails wrong 'wrong 1' wrong ''
# A process that had candidates before may have been damaged by one of them: what
# dies in it is tried again in another.
FAULT='later 3' LD_PRELOAD=$tmp/faulty.so "$TUNEC" tune "$spec" \
	--target "$target" --trials 6 --db later.jsonl >out 2>err
ok later-is-tried-again [ "$(count later.jsonl '"outcome":"ok"')" -ge 6 ]
ok later-costs-no-trial lacks later.jsonl '"outcome":"crash"'
ok later-is-said has err 'killed by signal 6.*; trying again'
