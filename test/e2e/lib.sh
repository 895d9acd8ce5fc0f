# Sourced by the scripts beside it: an empty folder to work in, and words that
# print a test's result.
set -u
root=$PWD
workloads=$root/workloads
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
unset TUNEC_DB TUNEC_TARGET TUNEC_MACHINE
# Leaks are looked for in test programs: of some 400 runs of tunec on a loaded
# machine, LeakSanitizer itself failed in two.
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 # for LD_PRELOAD
cd "$tmp" || exit 1
unclocked=-DTUNEC_SECONDS=0 # what --emit=main writes checks, and hardly times

ok() { # name, command: must succeed
	local name=$1
	shift
	if "$@" >said 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name: $* gave $?: $(tail -n 3 said | tr '\n' ' ')"
	fi
}
exits() { # name, exit, command: what it prints is in out and err
	local name=$1 want=$2 got
	shift 2
	"$@" >out 2>err </dev/null
	got=$?
	if [ $got = "$want" ]; then
		echo "ok $name"
	else
		echo "not ok $name: exit $got, not $want: $(tail -n 3 err | tr '\n' ' ')"
	fi
}
has() { grep -q -e "$2" "$1"; } # file, pattern
lacks() { ! grep -q -e "$2" "$1"; }
absent() { [ ! -e "$1" ]; }
turn=0
its_turn() { # N: of what is alike, one of N in the quick tier, all in the long one
	[ "${TIER:-quick}" = long ] || [ $((turn++ % $1)) = 0 ]
}
within() { # KB of addresses, command; ASan maps terabytes of its own
	([ "${VARIANT:-}" = sanitize ] || ulimit -v "$1"; shift; exec "$@")
}
