#!/bin/sh
# tunec target: texts, JSON, what is missing.
set -u
check() { # name, condition
	name=$1
	shift
	if "$@" >/dev/null 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
	fi
}
host=$("$TUNEC" target --print)
has() { printf '%s\n' "$1" | grep -q -- "$2"; }

check host-is-canonical [ "$("$TUNEC" target --print "$host")" = "$host" ]
check host-has-all-keys has "$host" \
	'^llvm -mtriple=[^ ]* -mcpu=[^ ]* -mattr=[^ ]* -threads=[0-9]*$'
check host-runs-here has "$("$TUNEC" target "$host")" '^runs here'
check json has "$("$TUNEC" target --json)" '^{"host":"llvm .*"modules":'
check foreign has "$("$TUNEC" target 'llvm -mcpu=apple-m1 -threads=1' \
	'llvm -mcpu=x86-64 -threads=1')" 'does not run here'

"$TUNEC" target 'llvm -foo=1' >/dev/null 2>&1
check unknown-key-is-usage [ $? = 2 ]
"$TUNEC" target cuda >/dev/null 2>&1
check unbuilt-kind-fails [ $? = 1 ]
out=$(TUNEC_MODULES=/nonexistent "$TUNEC" target)
check missing-module-is-named has "$out" 'no /nonexistent/tunec-llvm.so'
# the module is found beside the program
out=$(env -u TUNEC_MODULES "$TUNEC" target)
check module-beside-program has "$out" 'tunec-llvm.so *works: LLVM'
