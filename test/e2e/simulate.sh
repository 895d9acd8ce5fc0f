#!/bin/bash
# tunec tune with --measure simulate or replay: what the searches, models and
# schedulers do, that runs repeat, and end where little is left to gain.
. "$(dirname "$0")/lib_tune.sh"

# --- schedulers ------------------------------------------------------------------
sed 's/^cases:/weights: {small: 3}\ncases:/' mm.yaml >weighted.yaml
# the gradient goes by weights, each in turn does not, a run that was cut goes on
split() { # store, case: of how many trials
	"$TUNEC" log export "mm.yaml:$2" --db "$1" | grep -c '"round":"search"'
}
for how in gradient round-robin; do
	for by in mm weighted; do
		exits "$how-$by" 0 tune $by.yaml --trials 60 --scheduler $how \
			--measure simulate --db $how-$by.db
		exits "again-$how-$by" 0 tune $by.yaml --trials 60 \
			--scheduler $how --measure simulate --db again-$how-$by.db
		ok "is-total-$how-$by" [ "$(trials $how-$by.db)" = 60 ]
		ok "repeats-$how-$by" [ "$(split $how-$by.db small)" = \
			"$(split again-$how-$by.db small)" ]
	done
done
ok gradient-goes-by-weights [ "$(split gradient-weighted.db small)" -gt \
	"$(split gradient-mm.db small)" ]
ok in-turn-is-evened-out [ "$(split round-robin-weighted.db small)" -le 36 ]
exits goes-on-by-gradient 0 tune mm.yaml --trials 75 --measure simulate \
	--db gradient-mm.db
ok goes-on-to-the-total [ "$(trials gradient-mm.db)" = 75 ]
# what is left to gain, and an end where that is little
exits until 0 tune mm.yaml --trials 400 --until 99% --measure simulate \
	--db until.db
ok until-ends-early [ "$(trials until.db)" -lt 100 ]
ok until-is-said grep -q '^limit: .* 2 of 2 end at --until 99%' out
"$TUNEC" log export --db until.db >until.lines 2>/dev/null
exits until-again 0 tune mm.yaml --trials 400 --until 99% --measure simulate \
	--db until.db --json
ok until-is-json [ "$(grep -c '"left":0\.[0-9].*"enough":true' out)" = 2 ]
"$TUNEC" log export --db until.db >again.lines 2>/dev/null
ok until-measures-nothing-again cmp until.lines again.lines
exits until-never 0 tune mm.yaml:small --trials 80 --until 0.001% \
	--measure simulate --db never.db
ok until-never-spends-all [ "$(trials never.db)" = 80 ]
ok until-never-says-what-is-left grep -q \
	'^limit: [0-9]* % .*at most [0-9]* % .*about [0-9.]* %.* 0 of 1 end' out

# --- options -----------------------------------------------------------------------
for how in '--search evolve' '--search ga' '--search grid' '--prior on' \
	'--acquire ei' '--acquire ucb' '--model linear' '--model neighbours' \
	'--objective regression' '--polish on' '--polish off' \
	'--batch submodular' '--batch top' '--epsilon 0.2'; do
	# shellcheck disable=SC2086
	exits "simulated${how// /-}" 0 tune mm.yaml:small --measure simulate \
		--trials 24 $how --db how.jsonl --more
done
ok predicted grep -q '"predicted":[0-9.]*e\?-\?[0-9]*,"verified"' how.jsonl
exits two-batches 0 tune mm.yaml:small --measure simulate --trials 24 \
	--db batches.jsonl --until 1% --transfer auto --model linear
ok batches-are-all-rated [ "$(grep -o '"batches":.*' batches.jsonl |
	grep -o '"trials":[0-9]*,"correlation"' | tr -dc '0-9\n' |
	awk '{ n += $1 } END { print n }')" = 24 ]
ok the-first-by-the-analytic-model-alone grep -q \
	'"correlation":null,"recall":null,"analytic":[0-9.-]*},{.*"correlation":[0-9.-]*,' \
	batches.jsonl
ok settings-are-in-the-mark grep -q '"kind":"run-start".*"settings":{"search":"sa",'\
'"model":"linear",.*"epsilon":"0.05","scheduler":"gradient","transfer":"auto","machine":"table","until":"1%"}' \
	batches.jsonl
# A product with few decisions: the space ends before the budget does.
sed 's/name: mm/name: tiny/; s/M: 33, N: 40, K: 29/M: 1, N: 2, K: 1/' \
	mm.yaml >tiny.yaml
exits exhausts 0 tune tiny.yaml:small --trials 100000 --time 60s --db tiny.db \
	--measure simulate
ok exhausted-is-said grep -q exhausted out
"$TUNEC" log export --db tiny.db >tiny.lines 2>/dev/null
exits exhausts-once 0 tune tiny.yaml:small --trials 100000 --time 60s \
	--db tiny.db --measure simulate
ok exhausted-is-said-again grep -q 'the space is exhausted' out
"$TUNEC" log export --db tiny.db >again.lines 2>/dev/null
ok exhausted-measures-nothing cmp tiny.lines again.lines
exits another-space-is-not-exhausted 0 tune tiny.yaml:small --trials 100000 \
	--measure simulate --db tiny.db --target "${target% *} -threads=1"

# Runs that begin in one millisecond, which makes their marks alike, are two.
for i in 1 2 3 4 5 6 7 8; do
	"$TUNEC" tune --target "$target" mm.yaml:small --trials 60 \
		--measure simulate --db eight.jsonl >/dev/null 2>&1 </dev/null &
done
wait
ok tuners-at-once-are-as-many [ "$(grep '"kind":"run-start"' eight.jsonl |
	grep -o '"id":"[^"]*"' | sort -u | wc -l)" = 8 ]
n=$(trials eight.jsonl)
ok tuners-at-once-share-their-budget [ $((n >= 60 && n <= 67)) = 1 ]

sed 's/^  other.*/  b: {M: 64}\n  c: {N: 80}\n  d: {K: 64}\n  e: {M: 96, N: 96}/' \
	mm.yaml >five.yaml
for i in 1 2 3; do # of several operators
	"$TUNEC" tune --target "$target" five.yaml --trials 300 \
		--measure simulate --db three.jsonl >/dev/null 2>&1 </dev/null &
done
wait
n=$(trials three.jsonl)
ok tuners-of-several-share-it-too [ $((n >= 300 && n <= 333)) = 1 ]

# --- simulated runs are repeatable -----------------------------------------------
strip() { # what follows from the clock, and how many cores there are
	"$TUNEC" log export --db "$1" 2>/dev/null |
		grep '"kind":"trial"' | sed 's/"at":"[^"]*",//
			s/"id":"[^"]*",//; s/"run":"[^"]*"//
			s/"cores":[0-9]*//'
}
for cpus in 0 0-1 1; do # the last one says it twice
	command -v taskset >/dev/null || break
	taskset -c $cpus true 2>/dev/null || continue
	exits "simulates-on-cpus-$cpus" 0 taskset -c $cpus "$TUNEC" tune \
		--target "$target" mm.yaml:small --trials 150 --seed 7 \
		--measure simulate --db sim-$cpus.jsonl
	strip sim-$cpus.jsonl >sim-$cpus
	[ $cpus = 0 ] || ok simulated-runs-repeat cmp sim-0 sim-$cpus
done
exits simulates-another-seed 0 tune mm.yaml:small --trials 150 --seed 8 \
	--measure simulate --db sim8.jsonl
strip sim8.jsonl >sim8
ok seeds-differ sh -c '! cmp -s sim-0 sim8'
best() {
	grep -o '"outcome":"ok","error":null,"time_s":[^,]*' "$1" | sort | uniq |
		head -n 1
}
# of few trials, too, the last ones are chosen by what the first ones taught
exits simulates-few 0 tune mm.yaml:small --trials 24 --measure simulate \
	--db few.db --json
ok learns-from-few grep -q '"train":0\.[0-9]*[1-9]' out
exits simulated-is-never-the-best 0 "$TUNEC" log best --db sim8.jsonl
ok simulated-is-no-trial grep -q 'no ok trials' out
exits simulated-is-not-built 3 "$TUNEC" build mm.yaml:small --frozen -o s.o \
	--target "$target" --db sim8.jsonl
cp sim8.jsonl both.jsonl
exits simulated-is-not-counted 0 tune mm.yaml:small --trials 3 --db both.jsonl
ok simulated-leaves-room [ "$(grep '"round":"search"' both.jsonl |
	grep -vc '"measure":"simulate"')" = 3 ]
exits measured-beside-simulated 0 "$TUNEC" build mm.yaml:small --frozen -o s.o \
	--target "$target" --db both.jsonl
before=$(best sim8.jsonl)
exits simulates-what-was-stored 0 tune mm.yaml:small --trials 1 --more --seed 8 \
	--measure simulate --db sim8.jsonl
ok simulates-the-same-again [ "$(best sim8.jsonl)" = "$before" ]
# what a store answers repeats too: twice, and on any number of CPUs; it says what it
# is, and no build takes it for measured
for run in 0 0-1 again; do
	on=(taskset -c "${run/again/0-1}")
	command -v taskset >/dev/null && "${on[@]}" true 2>/dev/null || on=()
	exits "replays-measurements-$run" 0 "${on[@]}" "$TUNEC" tune \
		--target "$target" mm.yaml:small --trials 30 --seed 7 \
		--measure replay:sim-0.jsonl --db from-$run.jsonl
	strip from-$run.jsonl >from-$run
	[ $run = 0 ] || ok "replayed-runs-repeat-$run" cmp from-0 from-$run
done
exits replays-what-is-not-there 1 tune mm.yaml:small --trials 3 \
	--measure replay:nowhere.jsonl --db nothing.jsonl
ok it-is-named grep -q 'no file nowhere.jsonl' err
ok nothing-is-stored [ ! -e nothing.jsonl ]
ok replayed-says-so [ "$(grep '"kind":"trial"' from-0.jsonl |
	grep -vc '"measure":"replay"')" = 0 ]
exits replayed-is-never-the-best 0 "$TUNEC" log best --db from-0.jsonl
ok replayed-is-no-trial grep -q 'no ok trials' out
exits replayed-is-not-built 3 "$TUNEC" build mm.yaml:small --frozen -o s.o \
	--target "$target" --db from-0.jsonl

# a row a trial: as many cells in each, features where the SPEC is named
exits csv 0 "$TUNEC" log export --csv mm.yaml:small --db sim-0.jsonl -o sim.csv
cat >rows.py <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
lines = [json.loads(l) for l in open(sys.argv[2])]
lines = [l for l in lines if l["kind"] == "trial"]
assert [r["id"] for r in rows] == [l["id"] for l in lines]
for r, l in zip(rows, lines):
    assert None not in r and None not in r.values()
    assert abs(float(r["time_s"]) / l["time_s"] - 1) < 1e-8
    assert (r["round"], r["measure"]) == (l["round"], "simulate")
    assert r["decisions"].count("=") == json.dumps(l["trace"]).count("decision")
    assert bool(r["predicted_s"]) == (l["predicted"] is not None)
names = list(rows[0])[11:]
assert len(names) == 133 and names[0] == "stage1.seconds_ns"
features = [[r[n] for n in names] for r in rows]
assert all(bool(x) == (sys.argv[3] == "with") for f in features for x in f)
assert sys.argv[3] != "with" or len(set(map(tuple, features))) > 100
END
rows_agree() { # where there is no Python, nothing is said
	! command -v python3 >/dev/null || python3 rows.py "$@"
}
ok csv-has-each-trial rows_agree sim.csv sim-0.jsonl with
"$TUNEC" log export --csv --db sim-0.jsonl >bare.csv
ok csv-without-a-spec rows_agree bare.csv sim-0.jsonl without
# of a program of groups, theirs
cat >pair.yaml <<'END'
tunec: 1
name: pair
inputs: {x: "f32[32, 48]", w: "const f32[48, 64]", v: "const f32[64, 32]"}
compute: |
  h[i < 32, j < 64] = max(sum[k < 48](x[i, k]*w[k, j]), 0)
  y[i < 32, j < 32] = sum[k < 64](h[i, k]*v[k, j])
END
exits pair 0 tune pair.yaml --trials 21 --measure simulate --db pair.jsonl
exits pair-csv 0 "$TUNEC" log export --csv pair.yaml --db pair.jsonl -o pair.csv
ok groups-are-rows [ "$(grep -c ',simulate,' pair.csv)" = \
	"$(grep -c '"kind":"trial"' pair.jsonl)" ]
ok groups-have-features [ "$(grep ',simulate,' pair.csv | grep -vc ',,,,,')" -ge 20 ]
