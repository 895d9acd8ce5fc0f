# make bench ONLY=cliffs: where the path was steep: other layouts, products too
# large for a cache, several products in one file, zeros, many cases.
#
#     ROW=transposed  rows whose name begins so; `make bench ONLY=cliffs ROW=?`
#                     prints the names
#     TIME=15s        what each tuning gets
#     NET_TIME=180s   what the tuning of the whole network gets
#     THREADS=2       of kernels and libraries; 1: on the thread's own clock, to
#                     measure beside other work
#     FRESH=1         tunes again what is there and has not changed
#
# Each row is one of the figures: what, measured, wanted, verdict.  bench_sides
# measures, all sides of a row in one run.  Stores and kernels stay in
# build/bench/cliffs; a run that was cut off goes on.  Sourced by run.sh.

cliffs=$work/cliffs
here=test/bench/cliffs

# --- tools ----------------------------------------------------------------------

# cliff_tune SPEC STEM [TIME [TARGET]]: leaves STEM.so, STEM.h, STEM.json and
# STEM.wall, seconds; says why not
cliff_tune() {
	local at=$cliffs/$2 time=${3:-$time} target=${4:-$cliff_target} now begin
	now=$(cat "${1%:*}" "$tunec" "$BUILD"/tunec-*.so | cksum)
	now="$now $1 $time $target"
	[ -z "${FRESH:-}" ] && [ -e "$at.so" ] &&
		[ "$(cat "$at.key" 2>/dev/null)" = "$now" ] && return
	rm -f "$at".*
	begin=$(date +%s.%N)
	$tunec tune "$1" --target "$target" --time "$time" --json \
		--db "$at.jsonl" >"$at.json" 2>"$at.log" || {
		why="tune: $(tail -n 1 "$at.log")"
		return 1
	}
	date +%s.%N | awk -v b="$begin" '{printf "%.1f\n", $1 - b}' >"$at.wall"
	$tunec build -q "$1" --target "$target" --frozen --db "$at.jsonl" \
		-o "$at.so" -o "$at.h" 2>"$at.log" || {
		why="build: $(tail -n 1 "$at.log")"
		return 1
	}
	echo "$now" >"$at.key"
}

# measure NAME SIDE...: all sides in one run, to NAME.txt
measure() {
	local out=$cliffs/$1.txt
	shift
	# shellcheck disable=SC2086
	$programs/bench_sides -t $threads $options "$@" >"$out" \
		2>"$out.log" || {
		why=$(tail -n 1 "$out.log")
		return 1
	}
	measured=$out
}

# column NAME 2|3|4|5: ms, GFLOP/s, times the first side's time, spread
column() {
	awk -v n="$1" -v c="$2" '$1 == n {print $c}' "$measured"
}

# Of the sides and of the peak in what was measured last
disturbed() {
	awk -v most=$((threads > 1 ? 10 : 5)) '
		$1 == "peak" {
			if ($3 > 10)
				printf "the peak varied by %s %%; ", $3
			next
		}
		$1 != "parts" && $NF > most {
			printf "noisy: %s ±%s %%; ", $1, $NF
		}' "$measured"
}

speeds() {
	awk '$1 != "peak" && $1 != "parts" {
			printf "%s%s %s", n++ ? ", " : "", $1, $3
		}
		END {print " GFLOP/s"}' "$measured"
}

missing() { # WHAT at-least|at-most WANTED: what could not be measured
	row "$1" - '' "$2" "$3" "$why"
}

# rate WHAT SIDE WANTED: the first side's speed, of SIDE's
rate() {
	row "$1" "$(column "$2" 4)" x at-least "$3" "$(disturbed)$(speeds)"
}

# A library as a side, of test/bench/peers: NAME TEXT [OPTION...]
library() {
	local so=$cliffs/$1.so c=test/bench/peers/$1.c
	if [ ! -e "$so" ] || [ "$c" -nt "$so" ] || [ test/bench/peers/side.h -nt "$so" ]
	then
		gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -fPIC -shared -o "$so" \
			"$c" "${@:3}" 2>"$so.log"
	fi
	echo "lib:$so $2"
}

dnnl() {
	echo "dnnl=$(library dnnl "any $1" -ldnnl)"
}

# --- rows -------------------------------------------------------------------------

# A convolution of ResNet-18, as side.h has it
shape() {
	case $1 in
	c1) echo ci=3,h=224,co=64,r=7,s=2,p=3 ;;
	c2) echo ci=64,h=56,co=64,r=3,s=1,p=1 ;;
	c3) echo ci=64,h=56,co=64,r=1,s=1,p=0 ;;
	c4) echo ci=64,h=56,co=128,r=3,s=2,p=1 ;;
	c5) echo ci=64,h=56,co=128,r=1,s=2,p=0 ;;
	c6) echo ci=128,h=28,co=128,r=3,s=1,p=1 ;;
	c7) echo ci=128,h=28,co=256,r=3,s=2,p=1 ;;
	c8) echo ci=128,h=28,co=256,r=1,s=2,p=0 ;;
	c9) echo ci=256,h=14,co=256,r=3,s=1,p=1 ;;
	c10) echo ci=256,h=14,co=512,r=3,s=2,p=1 ;;
	c11) echo ci=256,h=14,co=512,r=1,s=2,p=0 ;;
	c12) echo ci=512,h=7,co=512,r=3,s=1,p=1 ;;
	esac
}

# A convolution in a layout of the user's, to the same in ours and to oneDNN.
layout() {
	local c=${1#*_} kind=${1%%_*} plain=workloads/conv2d.yaml:resnet18_${1#*_}
	local what="$c in $kind, of our plain layout"
	local spec=$here/conv2d_$kind.yaml:$c
	cliff_tune $plain conv_$c && cliff_tune $spec ${kind}_$c &&
		measure layout_$1 $kind=$spec@$cliffs/${kind}_$c.so \
			plain=$plain@$cliffs/conv_$c.so \
			"$(dnnl "conv,$(shape $c),bias,relu")" ||
		{ missing "$what" at-least 0.95; return; }
	rate "$what" plain 0.95
	column plain 4 >>"$cliffs/mean.$kind"
}

layouts() { # after the rows: geometric means
	local kind
	for kind in nchw16c nhwc; do
		[ -s "$cliffs/mean.$kind" ] || continue
		row "$kind, geometric mean of $(grep -c . "$cliffs/mean.$kind")" \
			"$(awk '{s += log($1)} END {printf "%.3f", exp(s / NR)}' \
				"$cliffs/mean.$kind")" x at-least \
			"$([ $kind = nchw16c ] && echo 1.00 || echo 0.95)"
	done
}

# against NAME SPEC DESCRIPTION WANTED WHAT: a workload to oneDNN
against() {
	cliff_tune "$2" "$1" && measure "against_$1" \
		tunec="$2@$cliffs/$1.so" "$(dnnl "$3")" ||
		{ missing "$5, of oneDNN" at-least "$4"; return; }
	rate "$5, of oneDNN" dnnl "$4"
}

layer() {
	against conv_$1 workloads/conv2d.yaml:resnet18_$1 \
		"conv,$(shape $1),bias,relu" 0.95 $1
}

transposed() {
	local s
	case $1 in
	1) s=ci=512,h=4,co=256 ;;
	2) s=ci=256,h=8,co=128 ;;
	3) s=ci=128,h=16,co=64 ;;
	4) s=ci=64,h=32,co=3 ;;
	esac
	against t2d_$1 workloads/conv2d_transposed.yaml:t2d_$1 \
		deconv,$s,r=4,s=2,p=1 0.90 "T2D $1"
}

depthwise() {
	local s
	case $1 in
	d1) s='32 112' ;;
	d3) s='128 56' ;;
	d9) s='1024 7' ;;
	esac
	against depthwise_$1 workloads/depthwise.yaml:mobilenet_$1 \
		"conv,ci=${s% *},h=${s#* },co=${s% *},r=3,s=1,p=1,g=${s% *}" \
		0.95 "depthwise ${s% *},${s#* },${s% *}"
}

# A big operator: its budget, what more time finds, a library.
product() {
	local spec=$here/product.yaml:p$1 peer= n=$1
	if [ $1 = c3d ]; then
		spec=$here/conv3d.yaml:c3d
		peer=$(dnnl conv,nd=3,ci=3,depth=16,h=224,co=64,r=7,s=2,p=3)
	else
		peer=openblas=$(library blas "openblas product,m=$n,n=$n,k=$n")
	fi
	options='-b 5'
	cliff_tune $spec short_$1 15s ||
		{ missing "$1, --time 15s" at-most 16; return; }
	row "$1, --time 15s, wall time" "$(cat "$cliffs/short_$1.wall")" s \
		at-most 16
	cliff_tune $spec long_$1 60s && measure product_$1 \
		short=$spec@$cliffs/short_$1.so long=$spec@$cliffs/long_$1.so \
		"$peer" ||
		{ missing "$1, 15 s of 60 s" at-least 0.95; return; }
	rate "$1, 15 s of 60 s" long 0.95
	[ $1 = 4096 ] || [ -z "$(column "${peer%%=*}" 4)" ] ||
		rate "$1, of ${peer%%=*}" "${peer%%=*}" 0.95
}

# parts NAME SPEC WANTED WHAT PART*COUNT...: a file to the sum of its parts
parts() {
	local name=$1 spec=$2 wanted=$3 what=$4 part stem
	cliff_tune "$spec" "$name" ${net_time:-} || { missing "$what" at-most "$wanted"; return; }
	shift 4
	local sides="whole=$spec@$cliffs/$name.so"
	for part; do
		stem=$(basename "${part%\**}" | sed 's/\.yaml:/_/')
		cliff_tune "${part%\**}" "part_$stem" ||
			{ missing "$what" at-most "$wanted"; return; }
		sides="$sides $stem*${part##*\*}=${part%\**}@$cliffs/part_$stem.so"
	done
	set -f
	# shellcheck disable=SC2086
	measure "$name" $sides
	local status=$?
	set +f
	[ $status = 0 ] || { missing "$what" at-most "$wanted"; return; }
	row "$what" "$(column parts 2)" x at-most "$wanted" \
		"$(disturbed)$(column whole 2) ms, $(column whole 3) GFLOP/s"
}

block() {
	case $1 in
	basic) parts basic $here/basic_block.yaml: 1.05 \
		'basic block, of its convolutions' $here/conv.yaml:basic*1 \
		$here/conv_residual.yaml:basic*1 ;;
	bottleneck) parts bottleneck $here/bottleneck.yaml: 1.05 \
		'bottleneck, of its convolutions' $here/conv.yaml:narrow*1 \
		$here/conv.yaml:basic*1 $here/conv_residual.yaml:wide*1 ;;
	swiglu) parts swiglu $here/swiglu.yaml: 1.05 \
		'SwiGLU, of its products' $here/linear.yaml:up*2 \
		$here/linear.yaml:down*1 ;;
	lstm) parts lstm test/bench/families/control/lstm.yaml: 1.05 \
		'LSTM cell, of its parts' $here/linear.yaml:gates*2 \
		$here/lstm_gates.yaml:*1 ;;
	mlp) parts mlp $here/mlp.yaml: 1.05 \
		'four dense layers, of each alone' $here/dense.yaml:mlp1*1 \
		$here/dense.yaml:mlp2*1 $here/dense.yaml:mlp3*1 \
		$here/dense.yaml:mlp4*1 ;;
	inverted) parts inverted $here/inverted.yaml: 1.05 \
		'inverted residual, of its convolutions' \
		$here/inverted_expand.yaml:*1 $here/inverted_filter.yaml:*1 \
		$here/inverted_project.yaml:*1 ;;
	ffn) parts ffn $here/ffn.yaml: 1.05 'feed-forward, of its halves' \
		$here/ffn_up.yaml:*1 $here/ffn_down.yaml:*1 ;;
	qkv) parts qkv $here/qkv.yaml: 1.05 \
		'three products of one input, of each alone' \
		$here/linear.yaml:square*3 ;;
	lowrank) parts lowrank $here/lowrank.yaml: 1.05 \
		'low rank, of its products' $here/linear.yaml:thin*1 \
		$here/linear.yaml:flat*1 ;;
	esac
}

# The whole network: 3 minutes of tuning, its build, its workspace, its time.
resnet18() {
	local net=$cliffs/net.yaml begin bytes live net_time
	sh $here/resnet18.sh net >"$net"
	live=$(sh $here/resnet18.sh live)
	begin=$(date +%s.%N)
	$tunec build -q "$net" --target "$cliff_target" --db "$cliffs/none" \
		-o "$cliffs/untuned.so" -o "$cliffs/untuned.h" 2>"$cliffs/net.log" ||
		why=$(tail -n 1 "$cliffs/net.log")
	row 'ResNet-18, build without a record' "$(date +%s.%N |
		awk -v b="$begin" '{printf "%.1f", $1 - b}')" s at-most 10 "${why:-}"
	bytes=$(sed -n 's/^#define RESNET18_WORKSPACE_BYTES //p' \
		"$cliffs/untuned.h" 2>/dev/null)
	row 'ResNet-18, workspace, of the largest live set' \
		"$(awk -v b="${bytes:-x}" -v l="$live" 'BEGIN {
			if (b + 0) printf "%.2f", b / l
			else print "-" }')" x at-most 1.30 "$live bytes live"
	measure untuned "untuned=$net:@$cliffs/untuned.so" && row \
		'ResNet-18, untuned' "$(column untuned 2)" ms at-most 35 \
		"$(disturbed)wanted: its layers untuned, as in the issue"
	net_time=${NET_TIME:-180s}
	cliff_tune "$net:" net_tuned $net_time || {
		missing 'ResNet-18, of its layers tuned alone' at-most 1.10
		return
	}
	row "ResNet-18, --time $net_time, wall time" \
		"$(cat "$cliffs/net_tuned.wall")" s at-most \
		"$(echo $net_time | awk '{print $1 * 1.05 + 0.3}')"
	set -f
	# shellcheck disable=SC2046
	set -- $(sh $here/resnet18.sh parts | sed 's/ /*/')
	set +f
	parts net_tuned "$net:" 1.10 'ResNet-18, of its layers tuned alone' "$@"
}

attention() {
	case $1 in
	bert) parts bert workloads/attention.yaml:bert_base 1.10 \
		'attention of BERT base, of its products' $here/scores.yaml:*1 \
		$here/mix.yaml:*1 ;;
	causal)
		options='-b 9'
		parts causal $here/causal.yaml: 0.60 \
			'causal attention, 12 heads, L = 1024, of no mask' \
			$here/unmasked.yaml:*1 ;;
	esac
}

# candidate SPEC: what is built without a record, to what tuning finds
candidate() {
	local stem=${1##*/}
	stem=candidate_$(echo "$stem" | tr -c 'a-z0-9_\n' _)
	local what="${1##*/}, candidate 1 of tuned" at=$cliffs/$stem
	cliff_tune "$1" "$stem" && $tunec build -q "$1" --target "$cliff_target" \
		--db "$cliffs/none" -o "$at.first.so" -o "$at.first.h" \
		2>"$at.log" && measure "$stem" tuned="$1@$at.so" \
		first="$1@$at.first.so" ||
		{ why=${why:-$(tail -n 1 "$at.log")}
			missing "$what" at-least 0.70; return; }
	local share
	share=$(awk -v r="$(column first 4)" 'BEGIN {printf "%.3f", 1 / r}')
	row "$what" "$share" x at-least 0.70 "$(disturbed)$(speeds)"
	echo "$share" >>"$cliffs/mean.candidate"
}

candidates() { # after the rows
	[ -s "$cliffs/mean.candidate" ] || return
	row "candidate 1 of tuned, geometric mean of $(grep -c . "$cliffs/mean.candidate")" \
		"$(awk '{s += log($1)} END {printf "%.3f", exp(s / NR)}' \
			"$cliffs/mean.candidate")" x at-least 0.93
	row 'tuned, at most slower than candidate 1' \
		"$(sort -n "$cliffs/mean.candidate" | tail -n 1)" x at-most 1.02
}

# points NAME:CASE: products of bytes with zero points, to the same without, both
# without a record
points() {
	local name=${1%:*} case=${1#*:} at=$cliffs/points_${1/:/_} side sides=
	local what="$name $case, of no zero points"
	for side in $name ${name%_onnx}_plain; do
		$tunec build -q "$here/$side.yaml:$case" \
			--target "$cliff_target" --db "$cliffs/none" \
			-o "$at.$side.so" -o "$at.$side.h" 2>"$at.log" || {
			why=$(tail -n 1 "$at.log")
			missing "$what" at-most 1.15
			return
		}
		sides="$sides $side=$here/$side.yaml:$case@$at.$side.so"
	done
	# shellcheck disable=SC2086
	measure "points_${1/:/_}" $sides ||
		{ missing "$what" at-most 1.15; return; }
	row "$what" "$(column parts 2)" x at-most 1.15 \
		"$(disturbed)$(column "$name" 2) ms"
}

# Twelve cases, a second each: candidate 1 of every one, in time.
budget() {
	local at=$cliffs/budget begin
	rm -f "$at".*
	begin=$(date +%s.%N)
	$tunec tune -q workloads/conv2d.yaml --target "$cliff_target" \
		--time 12s --db "$at.jsonl" >"$at.log" 2>&1
	row '12 cases, --time 12s, wall time' "$(date +%s.%N |
		awk -v b="$begin" '{printf "%.1f", $1 - b}')" s at-most 12.9
	row '  cases with candidate 1 measured' "$(awk '
		/"outcome":"ok"/ && !/"trace":\[\]/ {
			match($0, /"op":"[0-9a-f]*"/)
			op[substr($0, RSTART, RLENGTH)] = 1
		}
		END {n = 0; for (o in op) n++; print n}' "$at.jsonl")" '' \
		at-least 12 "$(tail -n 1 "$at.log")"
}

trials() {
	local at=$cliffs/trials what='C6, trials a second, of new objects'
	rm -f "$at".*
	FRESH=1 cliff_tune workloads/conv2d.yaml:resnet18_c6 trials 30s ||
		{ missing "$what" at-least 40; return; }
	row "$what" "$(awk -v s="$(cat "$at.wall")" '
		/"kind":"trial"/ && !/"round":"final"/ && !/"same_as":/ {n++}
		END {printf "%.1f", n / s}' "$at.jsonl")" '/s' at-least 40 \
		"$(sed -n 's/.*"times_s":{\([^}]*\)}.*/\1/p' "$at.jsonl" |
			sed 's/"//g; s/\(\.[0-9]\)[0-9]*/\1/g; s/,/ s, /g') s"
	row 'C6, search and training beside lowering and compiling' "$(awk '
		function s(key) {
			return match($0, "\"" key "\":[0-9.e+-]+") \
				? substr($0, RSTART + length(key) + 3, RLENGTH) + 0 : 0
		}
		/"kind":"run-end"/ {
			guide = s("search") + s("features") + s("train")
			share = 100 * guide / (guide + s("lower") + s("compile"))
		}
		END {printf "%.1f", share}' "$at.jsonl")" % at-most 5
}

# What the instructions of a target allow: the peak of their vectors.
target() {
	local spec=workloads/conv2d.yaml:resnet18_c6 threads=1
	local options="-i sse" what="C6 for $1, of what its vectors allow"
	case $1 in
	*v3) options='-i avx2' ;;
	*v4) options='-i avx512' ;;
	esac
	cliff_tune $spec "target_$1" "$time" "llvm -mcpu=$1 -threads=1" &&
		measure "target_$1" "$1=$spec@$cliffs/target_$1.so" ||
		{ missing "$what" at-least 90; return; }
	row "$what" "$(awk -v g="$(column "$1" 3)" -v p="$(column peak 2)" \
		'BEGIN {printf "%.1f", 100 * g / p}')" % at-least 90 \
		"$(disturbed)$(speeds)"
}

# --- all ----------------------------------------------------------------------------

cliff_rows() {
	local f c
	for c in c2 c3 c6 c7 c9 c12; do
		echo "layout nchw16c_$c"
		echo "layout nhwc_$c"
	done
	printf 'layer %s\n' c9 c10 c12
	printf 'transposed %s\n' 1 2 3 4
	printf 'depthwise %s\n' d1 d3 d9
	printf 'product %s\n' 2048 4096 c3d
	printf 'block %s\n' basic bottleneck swiglu lstm mlp inverted ffn qkv \
		lowrank
	echo 'resnet18 -'
	printf 'attention %s\n' bert causal
	for f in qconv qconv_onnx qconv_nhwc qconv_nhwc_onnx qdepthwise \
		qmatmul; do
		for c in $($tunec check --json "$here/$f.yaml" |
			sed -n 's/.*"case": "\([^"]*\)".*/\1/p'); do
			echo "points $f:$c"
		done
	done
	echo 'budget -'
	echo 'trials -'
	printf 'target %s\n' x86-64 x86-64-v2 x86-64-v3 x86-64-v4
	for f in workloads/*.yaml; do
		for c in $($tunec check --json "$f" |
			sed -n 's/^{"name": "[^"]*", "case": "\([^"]*\)".*/\1:/p'); do
			echo "candidate $f:${c%:}"
		done
	done
}

cliffs() {
	local time=${TIME:-15s} threads=${THREADS:-2} options='' why='' measured=
	local cliff_target what arg wanted=${ROW:-} table=markdown
	cliff_target="${host% -threads=*} -threads=$threads"
	if [ "$wanted" = '?' ]; then
		cliff_rows | sed 's/ -$//; s/ /-/'
		return
	fi
	mkdir -p "$cliffs"
	rm -f "$cliffs"/mean.*
	test/tools/deps.sh libopenblas-dev libdnnl-dev ||
		echo 'OpenBLAS or oneDNN cannot be installed: not compared'
	echo "$threads thread(s), $time of tuning unless said."
	echo
	echo '| what | measured | wanted | verdict | |'
	echo '| --- | --- | --- | --- | --- |'
	cliff_rows >"$cliffs/rows"
	while read -r what arg <&3; do
		[[ $what-$arg == "$wanted"* ]] || continue
		why='' options=''
		$what "$arg"
	done 3<"$cliffs/rows"
	layouts
	candidates
}
