#!/bin/bash
# The machine's troubles are not the candidate's: no process, no thread, no
# memory, no descriptor, a server that is killed.  They are said and tried
# again; what passes leaves no trace in the store, what stays ends the run with
# exit 1 and what was kept.  trouble.c is preloaded and lets calls fail.
. "$(dirname "$0")/lib.sh"

spec=$workloads/matmul.yaml:square_128
if [ "${VARIANT:-}" = sanitize ]; then
	echo "what is preloaded takes the place of ASan's malloc"
	exit 77
fi
if ! "${CC:-cc}" -std=gnu11 -Wall -Werror -O1 -shared -fPIC -o trouble.so \
	"$root/test/e2e/trouble.c" 2>said; then
	echo "not ok trouble.c: $(tail -n 1 said)"
	exit 1
fi

tune() { # TROUBLE, store
	TROUBLE="$1" LD_PRELOAD=$PWD/trouble.so "$TUNEC" tune "$spec" \
		--seed 3 --trials 12 --db "$2"
}
count() { grep -c "$2" "$1"; } # file, pattern
ended() { # store, is the run complete?
	[ "$(count "$1" '"kind":"run-end"')" = 1 ] &&
		has "$1" "\"complete\":$2"
}
clean() { lacks "$1" '"outcome":"\(crash\|build\|timeout\)"'; } # store
passes() { # name, trouble, what is said
	exits "$1-passes" 0 tune "$2" "$1.jsonl"
	ok "$1-is-said" has err "$3"
	ok "$1-is-said-once" [ "$(count err "$3")" = 1 ]
	ok "$1-leaves-no-trace" clean "$1.jsonl"
	ok "$1-costs-no-trial" [ "$(count "$1.jsonl" '"round":"search"')" = 12 ]
}
stays() { # name, trouble, what is said, trials at least
	local kept
	exits "$1-ends-the-run" 1 tune "$2" "$1.jsonl"
	ok "$1-says-why" has err "error: matmul:square_128: $3"
	kept=$(count "$1.jsonl" '"kind":"trial"')
	ok "$1-says-what-is-kept" has err "$kept trials\? \(is\|are\) kept in $1.jsonl"
	ok "$1-keeps-trials" [ "$kept" -ge "$4" ]
	ok "$1-stores-no-trial" clean "$1.jsonl"
	ok "$1-marks-the-end" ended "$1.jsonl" false
}

again='Resource temporarily unavailable'
memory='Cannot allocate memory'
passes no-server "driver fork EAGAIN 0 2" "process can be started: $again"
passes no-process "server fork EAGAIN 5 2" "no process can be started: $again"
passes no-socket "server socketpair EMFILE 5 2" "Too many open files"
passes no-server-memory "server malloc ENOMEM 3 2" "$memory"
# On one CPU a kernel has no thread beside its own.
several() { [ "$(nproc)" = 1 ] || "$@"; }
several passes no-thread "child pthread_create EAGAIN 5 2" "$again"
passes no-buffers "child mmap ENOMEM 5 1" "$memory"
passes no-guard "child mprotect ENOMEM 5 1" "$memory"
passes no-pinning "child sched_setaffinity EAGAIN 5 2" "cannot be pinned: $again"
passes no-child-memory "child malloc ENOMEM 5 1" "out of memory\|$memory"
# No measuring process writes a file.
exits full-disk 0 tune "child write ENOSPC 0 1000000" full.jsonl
ok full-disk-leaves-no-trace clean full.jsonl

stays never-a-process "server fork EAGAIN 5 1000000" \
	"no process can be started: $again" 1
stays never-server-memory "server malloc ENOMEM 3 1000000" ".*$memory" 1
several stays never-a-thread "child pthread_create EAGAIN 8 1000000" ".*$again" 1
stays never-at-all "server fork EAGAIN 0 1000000" \
	"no process can be started: $again" 0

exits never-a-server 1 tune "driver fork EAGAIN 0 1000000" never.jsonl
ok never-a-server-says-why has err \
	"error: no measuring process can be started: $again"

# --- a run that is interrupted while it waits ------------------------------------
: >err # of the run before
TROUBLE="server fork EAGAIN 5 1000000" LD_PRELOAD=$PWD/trouble.so \
	"$TUNEC" tune "$spec" --db waits.jsonl >out 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do
	has err "$again" && break
	sleep 0.1
done
kill -INT $pid
wait $pid
code=$?
ok interrupted-while-it-waits [ $code = 130 ]
ok interrupted-is-marked ended waits.jsonl false
ok interrupted-is-no-error lacks err 'error:'

# --- servers killed by hand --------------------------------------------------------
below() { # PID: its children
	sed -n "s/^\([0-9]*\) (.*) [^Z] $1 .*/\1/p" /proc/[0-9]*/stat 2>/dev/null
}
working() { # PID: its children that have children
	local server
	for server in $(below "$1"); do
		if [ -n "$(below "$server")" ]; then
			echo "$server"
		fi
	done
}
kills() { # store, how many servers, options: the exit is in code
	local db=$1 n=$2 server end=$((SECONDS + 30))
	shift 2
	"$TUNEC" tune "$spec" --db "$db" "$@" >out 2>err &
	pid=$!
	while ((n > 0 && SECONDS < end)) && kill -0 $pid 2>/dev/null; do
		sleep 0.2
		[ -s "$db" ] && [ "$(count "$db" '"outcome":"ok"')" -ge 3 ] &&
			server=$(working $pid) && [ -n "$server" ] &&
			kill -9 $server && n=$((n - 1))
	done
	wait $pid
	code=$?
}
kills killed.jsonl 1 --time 4s
ok killed-server-is-replaced [ $code = 0 ]
ok killed-server-is-said has err 'the measuring process .*Killed'
ok killed-server-leaves-no-trace clean killed.jsonl
ok killed-server-run-is-complete ended killed.jsonl true
kills gone.jsonl 100 --time 20s
ok killed-servers-end-the-run [ $code = 1 ]
ok killed-servers-are-said has err 'the measuring process .*Killed'
ok killed-servers-leave-no-trace clean gone.jsonl
ok killed-servers-mark-the-end ended gone.jsonl false
