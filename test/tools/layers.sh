#!/bin/sh
# The arrows: a folder includes itself and what stands to its right.
#     cmd -> tuner -> schedule | codegen -> ir -> lib
set -u
bad=0
check() { # folder, allowed
	found=$(grep -rHn --include='*.[ch]' --include='*.def' '^#include "' "$1" |
		grep -vE "\"($2)/" || true)
	[ -z "$found" ] || { echo "$found"; bad=1; }
}
check lib 'lib'
check ir 'ir|lib'
check schedule 'schedule|ir|lib'
check codegen 'codegen|ir|lib'
check tuner 'tuner|schedule|codegen|ir|lib'
check cmd 'cmd|tuner|schedule|codegen|ir|lib'
# The rooms of a folder: what each may include of the other rooms; all may
# include what stands in the folder itself.
room() { # room, other rooms that it may include
	folder=${1%/*}
	found=$(grep -Hn '^#include "' "$1"/*.[ch] "$1"/*.def 2>/dev/null |
		grep -E "\"$folder/[a-z]+/" | grep -vE "\"($1${2:+|$2})/" || true)
	[ -z "$found" ] || { echo "$found"; bad=1; }
}
room ir/tape
room ir/spec
room ir/nest ir/tape
room ir/lowered
room ir/body
room schedule/trace
room schedule/primitives
room schedule/plan
room schedule/rules
room codegen/lower
room codegen/c
room codegen/cuda codegen/c
room codegen/hip
room codegen/device codegen/c
room codegen/llvm
room tuner/store tuner/measure
room tuner/search
room tuner/model
room tuner/measure tuner/device
room tuner/device
# The order of ops.def means nothing: nothing asks for a range of operations.
found=$(grep -rnE --include='*.[ch]' '[<>]=? OP_|OP_[A-Z0-9]+ [<>]' \
	cmd tuner schedule codegen ir | grep -v 'Op op = 0; op < OP_COUNT' |
	grep -vE 'assert\(op < OP_COUNT' || true)
[ -z "$found" ] || { echo "$found"; bad=1; }
# Only these two write to a terminal, and both escape.
found=$(grep -nE '(^|[^a-z_])v?(printf|puts|putchar|perror)\(|std(out|err)\b|json_dumpf' cmd/*.c |
	grep -vE '^cmd/(out|say)\.c:' || true)
[ -z "$found" ] || { echo "$found"; bad=1; }
# No two types of one name in a folder: who reads one finds it by its name.  Of the
# drivers of tuner/device each has its own Device, as device.h says.
for folder in cmd codegen ir lib schedule tuner; do
	found=$(grep -rE --include='*.[ch]' \
		'^(}|typedef .*[})]) [A-Z][A-Za-z0-9]*;|^(typedef )?struct [A-Z][A-Za-z0-9]* \{$' \
		$folder | sed -E 's/^([^:]*):.* ([A-Z][A-Za-z0-9]*)(;| \{).*/\2 \1/' |
		grep -vE '^Device(Kernel|Program)? tuner/device/' | sort -u |
		awk '$1 == type { print "two types " type ": " file " " $2 }
			{ type = $1; file = $2 }')
	[ -z "$found" ] || { echo "$found"; bad=1; }
done
exit $bad
