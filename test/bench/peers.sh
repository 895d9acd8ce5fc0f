# make bench ONLY=peers: our kernels beside libraries', row by row, in one run.
#
#     ROW=products    rows whose name begins so (a pattern of the shell's), or of
#                     the figure of that name; ROW=? prints figures and names
#     THREADS=2       1, 2 or both; without it rows are of two threads, products
#                     of one and of two
#     PEERS=pip       also ONNX Runtime, torch and a newer OpenBLAS, in a virtual
#                     environment in build/peers-venv
#     TIME=15s        what each tuning gets
#     FRESH=1         again, although nothing has changed since it was measured
#     SVG=FILE        where the picture goes; build/bench/peers/peers.svg
#
# peers/rows.txt has the rows, bench_sides measures all sides of one in one run,
# each in a process of its own.  Results are compared with those of the operator
# in f64.  Rows, stores and kernels stay in build/bench/peers; a run that was cut
# off goes on, and summary, JSON and picture are of all rows that are there and
# current.  A row is measured again when the compiler, its operator, its sides or
# TIME have changed, or where its threads shared a core.  Sourced by run.sh.

peers=$work/peers
peers_here=test/bench/peers
peers_least=0.05 # of the largest value: results that differ more are wrong

# --- sides ------------------------------------------------------------------------

# A library's side, compiled where its source is newer: NAME [LIBRARY...]
peer_library() {
	local so=$peers/$1.so c=$peers_here/$1.c
	[ -e "$so" ] && [ ! "$c" -nt "$so" ] &&
		[ ! $peers_here/side.h -nt "$so" ] && return
	gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -fopenmp -fPIC -shared -o "$so" \
		"$c" "${@:2}" 2>"$peers/$1.log" || rm -f "$so"
}

peer_libraries() {
	local p
	for p in libopenblas-dev libblis4-openmp libdnnl-dev; do
		test/tools/deps.sh $p || echo "$p cannot be installed: not compared"
	done
	if [ -n "${PEERS:-}" ]; then
		test/tools/venv.sh "$BUILD/peers-venv" numpy onnx onnxruntime torch \
			scipy-openblas32 ||
			echo 'wheels cannot be installed: not compared'
	fi
	peer_library copy
	peer_library blas
	peer_library dnnl -ldnnl
}

# What is compared with, for the key of a row.
peer_versions() {
	dpkg-query -W -f '${Package} ${Version}\n' 'libopenblas0-pthread' \
		libblis4-openmp libdnnl2 2>/dev/null
	[ -z "${PEERS:-}" ] || ls -d "$BUILD"/peers-venv/lib/python*/site-packages/{onnxruntime,torch,scipy_openblas32}-*.dist-info 2>/dev/null
}

# peer_side WORD TEXT BYTES STEM: the sides of a word of rows.txt, one a line
peer_side() {
	local newer
	case $1 in
	dnnl:*) echo "dnnl-${1#*:}=lib:$peers/dnnl.so ${1#*:} $2" ;;
	copy) echo "copy=lib:$peers/copy.so copy copy,bytes=$3" ;;
	direct) echo "direct=$5@$4.direct.so" ;;
	ort | torch)
		[ -z "${PEERS:-}" ] || echo "$1=run:exec $BUILD/peers-venv/bin/python $peers_here/peers.py $1 $2"
		;;
	openblas | blis)
		echo "$1=lib:$peers/blas.so $1 $2"
		[ "$1-${PEERS:-}" = openblas-pip ] || return
		newer=$(ls "$BUILD"/peers-venv/lib/python*/site-packages/scipy_openblas32/lib/libscipy_openblas*.so 2>/dev/null)
		[ -z "$newer" ] || echo "openblas-new=lib:$peers/blas.so $newer $2"
		;;
	esac
}

# --- a row --------------------------------------------------------------------------

# peer_tune SPEC STEM TARGET [OPTION...]: leaves STEM.so and STEM.untuned.so
peer_tune() {
	local spec=$1 at=$2 target=$3 now
	shift 3
	now="$peers_compiler $(cksum <"${spec%:*}") $spec $target $time $*"
	[ -z "${FRESH:-}" ] && [ "$(cat "$at.key" 2>/dev/null)" = "$now" ] &&
		return
	rm -f "$at".*
	{
		$tunec build -q "$spec" "$@" --target "$target" --db "$at.none" \
			-o "$at.untuned.so" -o "$at.untuned.h" &&
			$tunec tune -q "$spec" "$@" --target "$target" \
				--time "$time" --db "$at.db" &&
			$tunec build -q "$spec" "$@" --target "$target" \
				--frozen --db "$at.db" -o "$at.so" -o "$at.h"
	} >"$at.log" 2>&1 || return
	echo "$now" >"$at.key"
}

# The same operator in f64, which results are compared with: SPEC STEM TARGET
peer_wide() {
	[ -e "$2.wide.so" ] && return
	sed 's/\<b\?f\(32\|16\)\>/f64/g' "${1%:*}" >"$2.wide.yaml"
	$tunec build -q "$2.wide.yaml:${1##*:}" --target "$3" --db "$2.none" \
		-o "$2.wide.so" -o "$2.wide.h" >"$2.log" 2>&1
}

# What a row hangs on; without wheels, one that was measured with them will do.
peer_key() { # LINE THREADS
	local spec
	spec=$(echo "$1" | cut -d' ' -f3)
	echo "$peers_compiler $peers_sides $(cksum <"${spec%:*}") $1 $2 $time"
}

peer_current() { # NAME THREADS KEY
	local at=$peers/$1-$2
	[ -e "$at.row" ] || return
	[ "$(cat "$at.row.key" 2>/dev/null)" = "$3 $peers_wheels" ] ||
		{ [ -z "$peers_wheels" ] &&
			[[ $(cat "$at.row.key" 2>/dev/null) == "$3 "* ]]; }
}

# Whether it could be measured, its threads on cores of their own
peer_good() { # NAME THREADS
	awk '$1 == "failed" || ($1 == "cores" && 4*$4 > $5) {bad = 1}
		END {exit bad}' "$peers/$1-$2.row"
}

# A result that is not the operator's is said in place of the row.
peer_wrong() { # FILE
	awk -v most=$peers_least '
		$1 == "error" && !($4 <= most) {
			printf "failed the result of %s is off by %s\n", $2, $3
			exit
		}' "$1"
}

peer_measure() { # STEM SPEC THREADS TEXT SIDES
	local at=$1 spec=$2 word bytes sides=()
	bytes=$($tunec check --json "$spec" |
		sed -n 's/.*"bytes": \([0-9]*\).*/\1/p')
	for word in $5; do
		mapfile -t -O ${#sides[@]} sides < <(peer_side "$word" "$4" \
			"$bytes" "$at" "$spec")
	done
	mkdir -p "$at.data"
	"$programs/bench_sides" -t "$3" -f "$at.data" \
		-e "$at.wide.yaml:${spec##*:}@$at.wide.so" \
		tuned="$spec@$at.so" untuned="$spec@$at.untuned.so" "${sides[@]}" \
		>"$at.said" 2>"$at.log"
	local status=$?
	rm -rf "$at.data"
	return $status
}

# peer_row FIGURE NAME SPEC NUMERICS TEXT SIDES THREADS: leaves NAME-THREADS.row
peer_row() {
	local at=$peers/$2-$7 spec=$3 options=() target wrong
	target="${host% -threads=*} -threads=$7"
	[ "$4" = - ] || options=("--numerics=$4")
	if peer_tune "$spec" "$at" "$target" "${options[@]}" &&
		{ [[ " $6 " != *' direct '* ]] || peer_direct "$spec" "$at" \
			"$target"; } && peer_wide "$spec" "$at" "$target" &&
		peer_measure "$at" "$spec" "$7" "$5" "$6"; then
		wrong=$(peer_wrong "$at.said")
	else
		wrong="failed $(tail -n 1 "$at.log")"
		: >"$at.said"
	fi
	{
		echo "row $1 $2 $7 $4"
		cat "$at.said"
		[ -z "$wrong" ] || echo "$wrong"
	} >"$at.row"
	rm -f "$at.said"
}

# The kernel of the default numerics, tuned in a store of its own.
peer_direct() { # SPEC STEM TARGET
	local kind
	peer_tune "$1" "$2-direct" "$3" || { cp "$2-direct.log" "$2.log"; return 1; }
	for kind in so h; do
		cp "$2-direct.$kind" "$2.direct.$kind"
	done
}

# --- all ----------------------------------------------------------------------------

# NAME THREADS of the rows that are asked for
peer_wanted() {
	local line figure name t
	while read -r line; do
		figure=${line%% *} name=${line#* } name=${name%% *}
		# shellcheck disable=SC2053
		[ "${ROW:-$figure}" = "$figure" ] || [[ $name == ${ROW:-}* ]] || continue
		case ${THREADS:-figure-$figure} in
		figure-products | both) t='1 2' ;;
		1) t=1 ;;
		*) t=2 ;;
		esac
		for t in $t; do
			echo "$t $line"
		done
	done < <(grep -v '^#' $peers_here/rows.txt)
}

peer_awk() { # PROGRAM WHAT FILE...
	awk -v what="$2" -v machine="$(lscpu | sed -n 's/^Model name: *//p')" \
		-v date="$(date -u +%F)" -v tuning="$time" \
		-f $peers_here/read.awk -f "$peers_here/$1.awk" "${@:3}"
}

# Rows that are there and current, in the table's order.
peer_files() {
	local t line name
	while read -r t line; do
		name=${line#* } name=${name%% *}
		! peer_current "$name" "$t" "$(peer_key "$line" "$t")" ||
			echo "$peers/$name-$t.row"
	done < <(ROW='' THREADS=both peer_wanted)
}

peer_report() {
	local files
	mapfile -t files < <(peer_files)
	[ ${#files[@]} -gt 0 ] || { echo 'no row could be measured'; failed=1; return; }
	echo
	peer_awk table summary "${files[@]}" || failed=1
	peer_awk table json "${files[@]}" >"$peers/peers.json"
	peer_awk svg svg "${files[@]}" >"${SVG:-$peers/peers.svg}"
	echo
	echo "${#files[@]} rows: $peers/peers.json, ${SVG:-$peers/peers.svg}"
}

# Why what was asked for cannot be; nothing where it can
peer_refuse() {
	[[ ${THREADS:-2} =~ ^(1|2|both)$ ]] ||
		echo "error: THREADS is 1, 2 or both, not '$THREADS'"
	[[ ${PEERS:-pip} = pip ]] || echo "error: PEERS is pip, not '$PEERS'"
	[ -n "$(peer_wanted)" ] ||
		echo "error: no row begins with '$ROW'; ROW=? lists them"
}

peers() {
	local time=${TIME:-15s} t line figure name spec numerics text sides key
	local peers_compiler peers_sides peers_wheels=
	if [ "${ROW:-}" = '?' ]; then
		awk '!/^#/ {print $1, $2}' $peers_here/rows.txt
		return
	fi
	if [ -n "$(peer_refuse)" ]; then
		peer_refuse >&2
		failed=1
		return
	fi
	mkdir -p "$peers"
	peer_libraries
	peers_compiler=$(cat "$tunec" "$BUILD"/tunec-*.so | cksum)
	peers_sides=$({ PEERS='' peer_versions; cat $peers_here/{*.c,*.h,*.py} \
		"$programs/bench_sides"; } | cksum)
	[ -z "${PEERS:-}" ] || peers_wheels=$(peer_versions | cksum)
	echo "$time of tuning; us and GFLOP/s are the tuned kernel's, ratios its"
	echo 'speed over another'\''s (untuned: its speed over the tuned kernel'\''s),'
	echo 'the peak that of one core, and of all that took part.'
	echo
	peer_awk table head /dev/null
	while read -r t figure name spec numerics text sides <&3; do
		line="$figure $name $spec $numerics $text $sides"
		key=$(peer_key "$line" "$t")
		if [ -n "${FRESH:-}" ] || ! peer_current "$name" "$t" "$key" ||
			! peer_good "$name" "$t"; then
			peer_row "$figure" "$name" "$spec" "$numerics" "$text" \
				"$sides" "$t"
			echo "$key $peers_wheels" >"$peers/$name-$t.row.key"
		fi
		peer_awk table rows "$peers/$name-$t.row"
	done 3< <(peer_wanted)
	peer_report
}
