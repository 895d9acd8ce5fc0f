#!/bin/bash
# Misuses of the operator file: NAME.yaml is refused, and what tunec check says
# is NAME.txt, whole.  A line "# args: ..." in the file has further arguments,
# "# case: big" the case.  BLESS=1 writes the texts anew.
cd "$(dirname "$0")" || exit 1
for f in *.yaml; do
	name=${f%.yaml}
	args=$(sed -n 's/^# args: //p' "$f")
	case=$(sed -n 's/^# case: /:/p' "$f")
	# shellcheck disable=SC2086
	got=$(timeout 5 "$TUNEC" check $args "$f$case" 2>&1)
	rc=$?
	[ -n "${BLESS:-}" ] && printf '%s\n' "$got" >"$name.txt"
	if [ $rc != 1 ]; then
		echo "not ok $name exits $rc"
	elif [ "$got" = "$(cat "$name.txt")" ]; then
		echo "ok $name"
	else
		echo "not ok $name"
		printf '%s\n' "$got" | diff "$name.txt" - | sed 's/^/    /'
	fi
done
