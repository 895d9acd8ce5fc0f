#!/bin/bash
# What make bench ONLY=peers does beside measuring: its rows are operators that
# exist, canned results become a table, verdicts, JSON and a picture, and rows are
# measured again when they should be; bench_sides goes on without a library.
. "$(dirname "$0")/lib.sh"
bench=$root/test/bench/peers
sides=$root/$BUILD/test/bench/bench_sides

python() { # true where there is none
	! command -v python3 >/dev/null || python3 "$@"
}

# --- rows -------------------------------------------------------------------------

grep -v '^#' "$bench/rows.txt" >rows
for spec in $(cut -d' ' -f3 rows | sort -u); do
	ok "accepts-${spec##*/}" "$TUNEC" check "$root/$spec"
done
ok names-differ sh -c '[ -z "$(cut -d" " -f2 rows | sort | uniq -d)" ]'
ok six-columns awk 'NF < 6 {exit 1}' rows
ok numerics awk '$4 != "-" && $4 != "fast" {exit 1}' rows
ok known-sides awk '{
	for (i = 6; i <= NF; i++)
		if ($i !~ /^(dnnl:(any|plain|packed|winograd|sgemm)|openblas|blis|ort|torch|copy|direct)$/)
			exit 1
}' rows

# --- canned results ---------------------------------------------------------------

canned() { # FIGURE NAME THREADS SIDE MS...; ours take 1 ms
	local figure=$1 name=$2 threads=$3
	shift 3
	printf 'row %s %s %s -\nerror tuned 2.000e-06 1.000e-07\n' "$figure" \
		"$name" "$threads"
	printf 'error direct 1.000e-06 1.000e-07\nparts 0.5 1.0\n'
	printf 'tuned 1.000000 200.0 1.000 0.0\n'
	while [ $# -gt 0 ]; do
		printf '%s %s %s %s 1.0\nabout %s Library 1.0 "fast" <&>\n' \
			"$1" "$2" "$(awk -v t="$2" 'BEGIN {print 200 / t}')" "$2" "$1"
		shift 2
	done
	printf 'peak 117.0 1.0\nwork 200000000 100000000\ncores 233.0 1 0 15\n'
}
{
	canned plain c1 2 untuned 1.25 dnnl-any 1.02 dnnl-plain 2.0 ort 1.8
	canned plain c2 2 untuned 1.0 dnnl-any 0.90 ort 1.7
	echo 'none torch No module named torch'
	canned memory softmax-256 2 untuned 1.0 dnnl-plain 0.9 copy 0.95
	canned products product-256 1 untuned 1.0 dnnl-plain 1.1 openblas 1.05
	canned products product-256 2 untuned 1.0 dnnl-plain 1.1 blis 0.99
	canned winograd winograd-c2 2 untuned 1.0 direct 2.0 dnnl-winograd 1.0 \
		dnnl-any 0.4
	canned attention attention-bert 2 untuned 1.0 ort 1.3 torch 1.5 |
		sed 's/^ort .*/ort 1.3 150 1.3 25.0/; s/^peak.*/peak 117.0 22.5/'
	canned dots u8i8-512 2 untuned 1.0 dnnl-packed 1.0 |
		sed 's/^cores.*/cores 120.0 30 9 15/'
	printf 'row others grp 2 -\nfailed tune: no trial was right\n'
} >results
report() { # PROGRAM WHAT
	awk -v what="$2" -v machine='CPU "X" <1>' -v date=2026-01-01 \
		-v tuning=15s -f "$bench/read.awk" -f "$bench/$1.awk" results
}

exits rows 0 report table rows
cp out table
ok row-and-best has table '^| c1 | 2 | 1000.0 | 200.0 | 1.020 | dnnl-any .*: Library 1.0 "fast" <&> | dnnl-plain 2.00, ort 1.80 | 0.80 | 117.0, 233.0 |  |$'
ok behind has table '^| c2 .* behind; torch: No module named torch |$'
ok copying-is-enough sh -c 'grep "^| softmax" table | grep "100.0 GB/s" | grep -vq behind'
ok winograd-of-winograd has table '^| winograd-c2 .* | 1.000 | dnnl-winograd .*largest error 2.000e-06, direct 1.000e-06 |$'
ok noisy has table 'the peak varied by 22.5 %; noisy: ort ±25.0 %'
ok shared has table '^| u8i8-512 .*the threads shared a core in 9 turns'
ok failed-row has table '^| grp | 2 .* tune: no trial was right |$'

exits summary 1 report table summary
cp out summary
ok mean has summary '^| C1 to C12, of oneDNN direct, geometric mean of 2 | 0.958 x | at least 1 | MISSED'
ok least has summary '^| C1 to C12, of oneDNN direct, least | 0.900 x | at least 0.95 | MISSED | c2-2 |$'
ok of-ort has summary '^| C1 to C12, of ONNX Runtime, geometric mean of 2 | 1.749 x | at least 1.7 | ok'
ok of-copying has summary '^| rows, pools: .* least | 1.056 x .* ok'
ok one-thread has summary '^| products on one thread, .*mean of 1 | 1.050 x .* ok'
ok two-threads has summary '^| products on two threads, .*mean of 1 | 0.990 x .* MISSED'
ok winograd has summary '^| Winograd, of our direct kernels, geometric mean of 1 | 2.000 x .* ok'
ok errors has summary '^| Winograd, largest error, .* | 2.0 x | at most 8 | ok'
ok untuned has summary '^| untuned, of tuned, least | 0.800 x .* ok | c1-2'
ok not-there has summary '^| C1 to C12 in NCHW16c, .* | - | .* not measured'
ok failed has summary '^| rows that could not be measured, of 9 | 1 | .* MISSED'
ok on-one-core has summary '^| rows whose threads shared a core, of 9 | 1 | .* MISSED'

exits json 0 report table json
cp out results.json
ok json-is-json python -m json.tool results.json
exits svg 0 report svg svg
cp out results.svg
ok svg-is-xml python -c 'import xml.dom.minidom as m; m.parse("results.svg")'
ok svg-in-the-dark has results.svg 'prefers-color-scheme:dark'
while read -r figure name rest; do
	canned "$figure" "$name" 2 untuned 1.0 dnnl-any 1.1 dnnl-winograd 1.2 \
		direct 2 ort 3
	canned "$figure" "$name" 1 untuned 0.9 dnnl-any 0.8
done <rows >results
exits svg-of-all 0 report svg svg
ok svg-is-small sh -c '[ "$(wc -c <out)" -lt 40000 ]'
ok svg-of-all-is-xml python -c 'import xml.dom.minidom as m; m.parse("out")'

# --- what is asked for, what goes on ------------------------------------------------

cat >driver.sh <<END
cd "$root"
work=$tmp/bench BUILD=$BUILD tunec=$TUNEC host='llvm -threads=2' failed=0
programs=$root/$BUILD/test/bench
. test/bench/peers.sh
peer_libraries() { :; }
peer_row() {
	echo "\$2-\$7" >>"$tmp/measured"
	sed "s/^row .*/row \$1 \$2 \$7 \$4/" "$tmp/one" >"$tmp/bench/peers/\$2-\$7.row"
}
peers
exit \$failed
END
canned plain x 2 untuned 1.0 dnnl-any 1.1 ort 2.0 >one
: >measured
exits lists 0 env ROW='?' bash driver.sh
ok lists-figure-and-name has out '^plain c1$'
exits no-such-row 1 env ROW=resnet bash driver.sh
ok no-such-row-said has err "^error: no row begins with 'resnet'; ROW=? lists them$"
exits no-such-threads 1 env THREADS=3 bash driver.sh
ok threads-said has err "^error: THREADS is 1, 2 or both, not '3'$"
exits no-such-peers 1 env PEERS=conda bash driver.sh
ok peers-said has err "^error: PEERS is pip, not 'conda'$"
measured() { [ "$(tr '\n' ' ' <measured)" = "$1" ]; }
ok nothing-measured measured ''
exits one-row 1 env ROW=c10 bash driver.sh # other figures are not measured
ok once measured 'c10-2 c10-16c-2 '
exits goes-on 1 env ROW=c1 bash driver.sh
ok not-again sh -c '[ "$(grep -c "^c10-2$" measured)" = 1 ] && grep -q "^c11-2$" measured'
: >measured
exits fresh 1 env ROW=c10 FRESH=1 bash driver.sh
ok again-fresh measured 'c10-2 c10-16c-2 '
: >measured
exits more-time 1 env ROW=c10-16c TIME=20s bash driver.sh
ok again-with-more-time measured 'c10-16c-2 '
: >measured
exits figure 1 env ROW=products TIME=20s bash driver.sh
ok products-on-both sh -c '[ "$(grep -c "^product-1024-[12]$" measured)" = 2 ]'
sed 's/^cores.*/cores 120.0 30 9 15/' one >two && mv two one
exits on-one-core-once 1 env ROW=c6 FRESH=1 bash driver.sh
: >measured
exits on-one-core-again 1 env ROW=c6 bash driver.sh
ok measured-again measured 'c6-2 c6-16c-2 '
ok summary-of-all has out '^| rows whose threads shared a core, of [1-9][0-9]* | 2 |'
ok leaves-json python -m json.tool bench/peers/peers.json

# --- sides --------------------------------------------------------------------------

cat >small.yaml <<'END'
tunec: 1
name: small
inputs: {x: 'f32[1000]'}
compute: |
  y[i < 1000] = x[i] * 2
END
one=$("$TUNEC" target --print)
one="${one% -threads=*} -threads=1"
ok builds "$TUNEC" build -q small.yaml --target "$one" --db none.db -o k.so -o k.h
cat >side.c <<'END'
#include "test/bench/peers/side.h"
static float y[1000];
void *side_open(const SideRequest *r, const char **why)
{
	*why = "no such kind";
	if (!side_is(r->text, "twice") || side_number(r->text, "n", 0) != 1000)
		return NULL;
	for (int i = 0; i < 1000; i++)
		y[i] = ((const float *)r->inputs[0])[i] * 2;
	if (side_number(r->text, "wrong", 0))
		y[7] += 1;
	return y;
}
void side_run(void *s) { (void)s; }
void side_result(void *s, void *to) { memcpy(to, s, sizeof y); }
const char *side_about(void *s) { (void)s; return "by hand"; }
END
ok compiles-side gcc -std=gnu11 -Wall -Wextra -Werror -I"$root" -fPIC -shared -o side.so side.c
ok compiles-copy gcc -std=gnu11 -Wall -Wextra -Werror -I"$root" -fopenmp -fPIC -shared \
	-o copy.so "$bench/copy.c"
ok compiles-blas gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$root" -fPIC \
	-shared -o blas.so "$bench/blas.c"
if echo '#include <dnnl.h>' | gcc -E - >/dev/null 2>&1; then
	ok compiles-dnnl gcc -std=gnu11 -Wall -Wextra -Werror -I"$root" -fPIC \
		-shared -o dnnl.so "$bench/dnnl.c" -ldnnl
fi
mkdir data
exits measures 0 "$sides" -b 1 -f data -e small.yaml:@./k.so ours=small.yaml:@./k.so \
	'hand=lib:./side.so by twice,n=1000' \
	'off=lib:./side.so by twice,n=1000,wrong' \
	'copy=lib:./copy.so copy copy,bytes=8000' \
	'kind=lib:./side.so by thrice,n=1000' \
	'gone=lib:./gone.so by twice,n=1000' 'wheel=run:exit 1'
ok right has out '^error hand 0.000e+00 0.000e+00$'
ok wrong has out '^error off 1.000e+00 [1-9]'
ok said-of-itself has out '^about hand by hand$'
ok copy-has-no-result lacks out '^error copy'
ok copy-is-timed has out '^copy [0-9.]* [0-9.]* [0-9.]* [0-9.]*$'
ok no-such-kind has out '^none kind no such kind$'
ok no-such-file has out '^none gone .*gone.so: cannot open'
ok no-such-program has out '^none wheel its process ended$'
ok work has out '^work 1000 8000$'
