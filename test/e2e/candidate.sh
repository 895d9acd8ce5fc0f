#!/bin/bash
# Candidates that crash, hang or run out of memory while they are measured: the
# trial is recorded with its class and the run goes on.  What a broken kernel
# would do is done from outside to the process that measures one: it gets a
# SIGSEGV, stands still, or has no more memory to allocate.
. "$(dirname "$0")/lib.sh"

below() { # PID: its children
	sed -n "s/^\([0-9]*\) (.*) [^Z] $1 .*/\1/p" /proc/[0-9]*/stat 2>/dev/null
}
outcomes() { # STORE OUTCOME: how many
	"$TUNEC" log export --db "$1" 2>/dev/null |
		grep -c "\"outcome\":\"$2\""
}
strike() { # how; true once a measuring process was hit: one, or for want of memory
	# all, since what one process lacks is tried again in another
	local server child hit=1
	for server in $(below $pid); do
		for child in $(below "$server"); do
			case $1 in
			crash) kill -SEGV "$child" 2>/dev/null && return ;;
			timeout) kill -STOP "$child" 2>/dev/null && return ;;
			memory)
				prlimit --pid "$child" --as=1000000:1000000 \
					2>/dev/null && hit=0 ;;
			esac
		done
	done
	return $hit
}
for how in crash timeout memory; do
	"$TUNEC" tune "$workloads/conv2d.yaml:resnet18_c9" --time 100s \
		--db $how.jsonl >out 2>err &
	pid=$!
	end=$((SECONDS + 40)) # the plain nest first, which has to be measured
	while [ "$(outcomes $how.jsonl ok)" -lt 3 ] && [ $SECONDS -lt $end ]; do
		sleep 0.2
	done
	want=$how
	[ $how = memory ] && want='\(crash\|build\|timeout\)'
	end=$((SECONDS + 25))
	while [ "$(outcomes $how.jsonl "$want")" = 0 ] && [ $SECONDS -lt $end ]; do
		strike $how
		[ $how = timeout ] && sleep 1
	done
	before=$("$TUNEC" log export --db $how.jsonl 2>/dev/null | wc -l)
	end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ] &&
		[ "$("$TUNEC" log export --db $how.jsonl | wc -l)" -le "$before" ]
	do
		sleep 0.2
	done
	after=$("$TUNEC" log export --db $how.jsonl 2>/dev/null | wc -l)
	kill -INT $pid
	wait $pid
	code=$?
	if [ "$(outcomes $how.jsonl "$want")" -gt 0 ]; then
		echo "ok $how-is-recorded"
	else
		echo "not ok $how-is-recorded: $(tail -n 2 err | tr '\n' ' ')"
	fi
	if [ "$after" -gt "$before" ]; then
		echo "ok $how-goes-on"
	else
		echo "not ok $how-goes-on: $before lines, then $after, exit $code"
	fi
done
