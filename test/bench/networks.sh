# make bench ONLY=networks: networks as one operator file each beside ONNX
# Runtime, which folds and fuses by itself; batch 1, in one run.
#
#     NETWORK=resnet18   one of them: resnet18, mobilenet_v2, bert_base
#     THREADS=1          1 or 2; without it both
#     TIME=120s          what each tuning on two threads gets; on one thread
#                        there is none
#
# peers/networks.py writes the operator file and ONNX Runtime's nodes from one
# description.  Results are compared with those of the operator in f64, as
# those of peers.sh, whose functions these are.  Sourced by run.sh.

# What bench_sides said of a side: NAME COLUMN FILE
network_side() {
	awk -v n="$1" -v c="$2" '$1 == n {print $c}' "$3"
}

# network_measure STEM SPEC THREADS NAME: leaves STEM.said
network_measure() {
	local at=$1 spec=$2 sides=("untuned=$2@$1.untuned.so")
	[ "$3" = 1 ] || sides+=("tuned=$2@$1.so")
	mkdir -p "$at.data"
	"$programs/bench_sides" -t "$3" -f "$at.data" \
		-e "$at.wide.yaml:@$at.wide.so" "${sides[@]}" \
		"ort=run:exec $BUILD/peers-venv/bin/python test/bench/peers/peers.py ort $4" \
		>"$at.said" 2>"$at.log"
	local status=$?
	rm -rf "$at.data"
	return $status
}

network_build() { # STEM SPEC TARGET: the untuned kernel, and how long it took
	local begin=$EPOCHREALTIME
	$tunec build -q "$2" --target "$3" --db "$1.none" -o "$1.untuned.so" \
		-o "$1.untuned.h" >"$1.log" 2>&1 || return
	awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f\n", b - a}'
}

# network_row NAME THREADS
network_row() {
	local at=$peers/network_$1-$2 target="${host% -threads=*} -threads=$2"
	local spec=$peers/$1.yaml: seconds tuned=- side wanted
	test/bench/peers/networks.py "$1" >"$peers/$1.yaml"
	rm -f "$at".*
	if ! { seconds=$(network_build "$at" "$spec" "$target") &&
		{ [ "$2" = 1 ] || peer_tune "$spec" "$at" "$target"; } &&
		peer_wide "$spec" "$at" "$target" &&
		network_measure "$at" "$spec" "$2" "$1"; }; then
		row "$1, $2 threads" '' '' at-least 1 "$(tail -n 1 "$at.log")"
		return
	fi
	[ "$2" = 1 ] && side=untuned wanted=1.0 || side=tuned wanted=1.1
	[ "$2" = 1 ] || tuned=$(network_side tuned 2 "$at.said")
	printf '%-13s %7s %9s %9s %9s %10s %10s\n' "$1" "$2" \
		"$(network_side untuned 2 "$at.said")" "$tuned" \
		"$(network_side ort 2 "$at.said")" "$seconds" \
		"$(awk '$1 == "error" && $2 == "untuned" {print $4}' "$at.said")"
	row "$1, $2 threads, $side: speed over ONNX Runtime's" \
		"$(awk -v s=$side '$1 == s {t = $2} $1 == "ort" {o = $2}
			END {if (t && o) printf "%.3f", o/t}' "$at.said")" \
		'' at-least $wanted "$(peer_wrong "$at.said")"
}

networks() {
	local time=${TIME:-120s} peers_compiler PEERS=pip name t
	mkdir -p "$peers"
	peers_compiler=$(cat "$tunec" "$BUILD"/tunec-*.so | cksum)
	peer_libraries
	printf '%-13s %7s %9s %9s %9s %10s %10s\n' network threads \
		untuned,ms tuned,ms ORT,ms build,s error
	for name in resnet18 mobilenet_v2 bert_base; do
		for t in 1 2; do
			[ "${NETWORK:-$name}" = "$name" ] &&
				[ "${THREADS:-$t}" = "$t" ] || continue
			network_row "$name" "$t"
		done
	done
}
