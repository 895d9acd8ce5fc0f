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
# Only these two write to a terminal, and both escape.
found=$(grep -nE '(^|[^a-z_])v?(printf|puts|putchar|perror)\(|std(out|err)\b|json_dumpf' cmd/*.c |
	grep -vE '^cmd/(out|say)\.c:' || true)
[ -z "$found" ] || { echo "$found"; bad=1; }
exit $bad
