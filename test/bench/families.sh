# make bench ONLY=families: operators by families, each against C as a good
# programmer would write it, or OpenBLAS where there is a product; one core.
#
#     TIME=4s         what each tuning gets
#     FAMILY=moves    one family, a folder of test/bench/families
#     OPERATOR=heads  operators whose name contains this
#     FRESH=1         again, although neither the compiler nor the operator nor
#                     its reference has changed since the row was measured
#
# families/FAMILY/NAME.yaml is an operator, the function NAME of
# families/FAMILY.c its reference, compiled by gcc -O3 -march=native
# -ffast-math.  bench_families measures.  Rows, stores and kernels stay in
# build/bench/families; a run that was cut off goes on.  Sourced by run.sh.

families=$work/families

family_title() {
	case $1 in
	twice) echo 'one buffer read twice' ;;
	moves) echo 'copies that move data' ;;
	rows) echo 'row reductions' ;;
	attention) echo 'attention with masks, decoding' ;;
	stencils) echo 'chains of stencils' ;;
	writes) echo 'writes larger than the caches' ;;
	casts) echo 'casts and powers' ;;
	apart) echo 'pixels and channels 2, 3, 4, 8 apart' ;;
	invariants) echo 'what does not vary inside' ;;
	several) echo 'several outputs, axes side by side' ;;
	triangles) echo 'triangles, running sums' ;;
	lookups) echo 'look-ups, where the greatest is' ;;
	bytes) echo 'sums of products of bytes' ;;
	scatters) echo 'sums of what data assigns' ;;
	control) echo 'at the reference before' ;;
	mixed) echo 'of any kind, written after all others were measured' ;;
	various) echo 'of any kind, a second lot, written after those' ;;
	third) echo 'of any kind, a third lot' ;;
	fourth) echo 'of any kind, a fourth lot' ;;
	fifth) echo 'of any kind, a fifth lot' ;;
	*) echo "$1" ;;
	esac
}

# reference FAMILY: builds families/FAMILY.so where it is not there
reference() {
	local c=test/bench/families/$1.c so=$families/$1.so blas=
	[ -e "$so" ] && [ ! "$c" -nt "$so" ] && return
	echo '#include <cblas.h>' | gcc -E - >"$families/cblas.txt" 2>&1 &&
		blas='-DHAVE_CBLAS -lopenblas'
	# shellcheck disable=SC2086
	gcc -std=gnu11 -O3 -march=native -ffast-math -fPIC -shared -o "$so" \
		$c ${blas} -lm
}

# family_row FAMILY NAME TIME: leaves NAME.row, the line of bench_families for
# each side, or what went wrong
family_row() {
	local spec=test/bench/families/$1/$2.yaml at=$families/$2 status now
	now=$(cat "$spec" "test/bench/families/$1.c" "$tunec" \
		"$BUILD"/tunec-*.so "$programs/bench_families" | cksum)"$3"
	[ -z "${FRESH:-}" ] && [ -e "$at.row" ] &&
		[ "$(cat "$at.key" 2>/dev/null)" = "$now" ] && return
	rm -f "$at.row" "$at.key" "$at.db"
	{
		$tunec build -q "$spec" --target "$one" --db "$at.none" \
			-o "$at.untuned.so" -o "$at.untuned.h" &&
			$tunec tune -q "$spec" --target "$one" --time "$3" \
				--db "$at.db" &&
			$tunec build -q "$spec" --target "$one" --frozen \
				--db "$at.db" -o "$at.tuned.so" -o "$at.tuned.h"
	} >"$at.log" 2>&1 || {
		echo "failed $(tail -n 1 "$at.log")" >"$at.row"
		return
	}
	$programs/bench_families "$spec" reference="$families/$1.so" \
		tuned="$at.tuned.so" untuned="$at.untuned.so" \
		>"$at.measured" 2>"$at.log"
	status=$?
	case $status in
	0) mv "$at.measured" "$at.row" && echo "$now" >"$at.key" ;;
	3) echo 'skipped without OpenBLAS' >"$at.row" ;;
	*) echo "failed $(tail -n 1 "$at.log")" >"$at.row" ;;
	esac
}

# A row of the table, from NAME.row
family_print() {
	awk -v family="$1" -v name="$2" '
		$1 == "skipped" || $1 == "failed" {
			printf "| %-10s | %-22s | %9s | %6s | %7s | %s |\n",
				family, name, "", "", "", $0
			exit
		}
		$1 != "peak" && $4 > 5 {
			note = note "noisy: " $1 " ±" $4 " %. "
		}
		$1 == "reference" {us = $2 * 1e3}
		$1 == "tuned" {tuned = $3}
		$1 == "untuned" {untuned = $3}
		$1 == "peak" && $3 > 10 {
			note = note "The peak varied by " $3 " %."
		}
		END {
			if (!us)
				exit
			printf "| %-10s | %-22s | %9.1f | %6.2f | %7.2f | %s |\n",
				family, name, us, tuned, untuned, note
		}' "$families/$2.row"
}

# What the rows of each family say together, and those of all but the control,
# which would flatter the mean; reads the table.
family_sums() {
	awk -F ' *\\| *' '
		$7 ~ /^failed/ && $2 != "control" {broken++}
		$5 !~ /^[0-9.]+$/ {next}
		{
			if (!($2 in n))
				order[++families] = $2
			n[$2]++
			t[$2] += log($5)
			u[$2] += log($6)
			far[$2] += $5 > 1.25
			if ($5 > worst[$2]) {
				worst[$2] = $5
				name[$2] = $3
			}
			if ($2 == "control")
				next
			all++
			tuned += log($5)
			untuned += log($6)
			over += $5 > 1.25
		}
		END {
			for (i = 1; i <= families; i++) {
				f = order[i]
				printf "family %s %d %.2f %.2f %s %d %.2f\n", f, n[f],
					exp(t[f] / n[f]), worst[f], name[f],
					far[f], exp(u[f] / n[f])
			}
			if (all)
				printf "all %d %.3f %d %.3f %d\n", all,
					exp(tuned / all), over,
					exp(untuned / all), broken
		}' "$1"
}

families() {
	local time=${TIME:-4s} family name rows=$families/rows.md sums table=
	mkdir -p "$families"
	test/tools/deps.sh libopenblas-dev ||
		echo 'OpenBLAS cannot be installed: its rows are skipped'
	echo 'Times the reference'\''s time on one core; the reference in microseconds.'
	echo
	printf '| %-10s | %-22s | %9s | %6s | %7s | %s |\n' family operator \
		reference tuned untuned ''
	echo '| --- | --- | --- | --- | --- | --- |'
	: >"$rows"
	for family in twice moves rows attention stencils writes casts apart \
		invariants several triangles lookups bytes scatters mixed \
		various third fourth fifth control; do
		[ "${FAMILY:-$family}" = $family ] || continue
		reference $family || continue
		for name in test/bench/families/$family/*"${OPERATOR:-}"*.yaml; do
			[ -e "$name" ] || continue
			name=$(basename "$name" .yaml)
			family_row $family "$name" "$time"
			family_print $family "$name" | tee -a "$rows"
		done
	done
	echo
	echo '| family | operators | tuned | worst | over 1.25 | untuned |'
	echo '| --- | --- | --- | --- | --- | --- |'
	sums=$(family_sums "$rows")
	echo "$sums" | while read -r kind family n t worst name far u; do
		[ "$kind" = family ] &&
			echo "| $(family_title "$family") | $n | $t | $worst ($name) | $far | $u |"
	done
	echo
	# shellcheck disable=SC2046
	set -- $(echo "$sums" | sed -n 's/^all //p')
	[ $# = 5 ] || return
	table=markdown
	echo '| what | measured | wanted | verdict | |'
	echo '| --- | --- | --- | --- | --- |'
	row 'operators that could not be measured' "$5" '' at-most 0
	row "operators over 1.25 times the reference, of $1" "$3" '' at-most 0
	row "tuned $time, geometric mean" "$2" x at-most 1.00
	row 'untuned, geometric mean' "$4" x at-most 1.15
	[ -z "$(grep -E '\| (failed|skipped) ' "$rows")" ] || failed=1
}
