#!/bin/bash
# A machine's row: printed, kept, used where it is asked for and nowhere else.
. "$(dirname "$0")/lib.sh"
target='llvm -mcpu=znver3 -threads=1'
spec=$workloads/matmul.yaml:odd
"$TUNEC" target --row "$target" >own.row
sed 's/^memory .*/memory 0.1/; s/^l2 .*/l2 1/; s/^load .*/load 8/; s/^late .*/late 4/' \
	own.row >other.row
sed 's/^cpu .*/cpu znver4/' own.row >zen4.row
shown() { # options: candidate 1, by what is foreseen
	"$TUNEC" show --stage=schedule -q --db none.db --target "$target" "$spec" "$@"
}
same() { cmp -s "$1" "$2"; }

# --- printed
ok row-says-its-version has own.row '^tunec-machine 1$'
ok row-says-its-cpu has own.row '^cpu znver3$'
ok row-says-its-units has own.row '^l2 32 *# bytes a cycle: '
"$TUNEC" target --row --machine own.row "$target" | grep -v '^#' >again.row
ok row-of-a-file-is-printed-as-it-is same again.row <(grep -v '^#' own.row)
exits gpu-has-no-row 1 "$TUNEC" target --row 'cuda -arch=sm_90'
ok gpu-has-no-row-is-said has err "has no row: it is no CPU's"

# --- used
shown >plain.txt
shown --machine own.row >own.txt
ok own-row-changes-nothing same plain.txt own.txt
shown --machine other.row >other.txt
ok another-row-does eval '! cmp -s plain.txt other.txt'
TUNEC_MACHINE=other.row shown >environment.txt
ok environment-is-the-option same other.txt environment.txt
TUNEC_MACHINE=other.row shown --machine own.row >both.txt
ok option-comes-first same plain.txt both.txt
TUNEC_MACHINE= shown >empty.txt
ok empty-is-none same plain.txt empty.txt
shown >after.txt
ok never-unasked same plain.txt after.txt
for kind in c o; do
	for row in none own; do
		option=()
		[ $row = own ] && option=(--machine own.row)
		"$TUNEC" build -q --db none.db --target "$target" "$spec" \
			-o $row.$kind "${option[@]}"
	done
	ok "build-of-$kind-is-the-same-by-the-own-row" same none.$kind own.$kind
done
"$TUNEC" space -v "$spec" --target "$target" >space.txt
"$TUNEC" space -v "$spec" --target "$target" --machine other.row >space-other.txt
ok space-has-no-costs same space.txt space-other.txt
exits depends-on-the-row 0 "$TUNEC" build -q --db none.db --target "$target" \
	"$spec" -o dep.o -MD --machine own.row
ok depends-on-the-row-is-named has dep.o.d ' own.row'
TUNEC_MACHINE=other.row "$TUNEC" build -q --db none.db --target "$target" \
	"$spec" -o dep.o -MD
ok depends-on-that-of-the-environment has dep.o.d ' other.row'
cp own.row out.c
exits row-is-no-output 1 "$TUNEC" build -q --db none.db --target "$target" \
	"$spec" -o out.c --machine out.c
ok row-is-no-output-is-said has err "the machine's row"

# --- kept: which row a run had
simulate() { # store, options
	local store=$1
	shift
	"$TUNEC" tune "$spec" --target "$target" --measure=simulate --trials 4 \
		-q --db "$store" "$@" >said 2>&1
}
simulate table.jsonl
simulate own.jsonl --machine own.row
simulate other.jsonl --machine other.row
row_of() {
	sed -n '/"run-start"/s/.*"machine":"\([^"]*\)".*/\1/p' "$1"
}
ok run-by-the-table-says-so [ "$(row_of table.jsonl)" = table ]
ok run-by-a-row-names-it eval 'row_of own.jsonl | grep -qE "^znver3 [0-9a-f]{16}$"'
ok other-numbers-other-name \
	eval '[ "$(row_of own.jsonl)" != "$(row_of other.jsonl)" ]'

# --- refused, by each verb
sed 's/^load .*/load fast/' own.row >bad.row
for verb in 'build -q -o x.o' 'show --stage=schedule' space \
	'tune --trials 1 --measure=simulate'; do
	words=${verb%% *}
	for row in bad missing zen4; do
		# shellcheck disable=SC2086
		exits "$words-refuses-$row" 1 "$TUNEC" $verb "$spec" \
			--target "$target" --machine $row.row
		ok "$words-says-of-$row" has err "$row.row"
	done
	# shellcheck disable=SC2086
	exits "$words-refuses-the-environment's" 1 env TUNEC_MACHINE=bad.row \
		"$TUNEC" $verb "$spec" --target "$target"
	ok "$words-names-the-line" has err \
		"bad.row:[0-9]*: error: 'fast' of load is no number"
done
exits of-another-family 1 "$TUNEC" space "$spec" --target "$target" \
	--machine zen4.row
ok of-another-family-is-said has err \
	'the row is of znver4, of family znver4; target .* is of family znver3'
exits of-a-gpu 1 "$TUNEC" space "$spec" --target 'cuda -arch=sm_90' \
	--machine own.row
ok of-a-gpu-is-said has err 'a row of a CPU (znver3) says nothing of target'
exits tune-for-a-gpu 1 "$TUNEC" tune "$spec" --target 'cuda -arch=sm_90' \
	--machine own.row
# what is given is not foreseen: a row of others does no harm
echo '[]' >plain.trace
exits trace-needs-no-row 0 env TUNEC_MACHINE=zen4.row "$TUNEC" show \
	--stage=schedule "$spec" --target "$target" --trace plain.trace

# --- measured, in too little time to be told much
exits measure-of-a-target 2 "$TUNEC" target --measure "$target"
exits measure-and-print 2 "$TUNEC" target --measure --print
exits measure-time 2 "$TUNEC" target --measure --time soon
exits measure 0 "$TUNEC" target --measure --time 2s -o here.row
ok measure-writes-the-file has here.row '^tunec-machine 1$'
ok measure-prints-nothing [ ! -s out ]
ok measure-says-when has here.row '^# measured 20[0-9-]* on '
exits measured-row-is-read 0 "$TUNEC" show --stage=schedule -q --db none.db \
	"$spec" --target host --machine here.row
exits measure-where-nothing-can-be-written 1 "$TUNEC" target --measure \
	--time 1ms -o /nonexistent/here.row
