#!/bin/bash
# tunec tune, replay and log together, as a user runs them: budgets, resuming,
# what is kept when a run is killed, stores that cannot be used.
. "$(dirname "$0")/lib_tune.sh"

# --- what is measured -----------------------------------------------------------
# A sum that does not vary along j is counted for each j, and made once.
cat >rows.yaml <<'END'
tunec: 1
name: rows
inputs: {x: "f32[64, 512]"}
compute: |
  y[i < 64, j < 512] = exp(x[i, j]) / sum[k < 512](exp(x[i, k]))
END
exits sums-made-once-are-plausible 0 tune rows.yaml --trials 3 --db rows.db
ok all-plausible sh -c '! grep -q implausible err'

# Bytes are multiplied four at a time, whatever their signs, and windows share.
cat >fast.yaml <<'END'
tunec: 1
name: fast
params: {N: 256, R: 17}
inputs: {a: "i8[N, N]", b: "const i8[N, N]", x: "u8[N + R, N + R]"}
compute: |
  c[i < N, j < N] = sum[k < N](a[i, k]*b[k, j])
  y[i < N, j < N] = max[r < R, s < R](x[i + r, j + s])
outputs: [c, y]
END
exits bytes-and-windows-are-plausible 0 tune fast.yaml --trials 6 --db fast.db
exits none-was-implausible 0 "$TUNEC" log errors --db fast.db
ok none-is-listed lacks out implausible

# Where OpenMP is told to pin threads, too: loaded, it takes all CPUs but one from
# the thread that loads it, and all threads were measured on that.
shares_a_cpu() { # PID: a team that is bound to the same one
	awk -v all="$cpus" '/^Cpus_allowed_list/ { n++; one[$2] = 1; last = $2 }
		END { if (n > 1 && length(one) == 1 && last != all)
			print "shared" }' /proc/"$1"/task/*/status 2>/dev/null |
		grep -q shared
}
keeps_cpus() { # tunes, and looks at the threads that do so
	local pid p bad=0
	OMP_PROC_BIND=true OMP_PLACES=cores setsid "$TUNEC" tune --target \
		"$target" "$workloads/matmul.yaml:square_512" --trials 3 \
		--db bound.db >/dev/null 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		for p in $(awk -v s=$pid '$6 == s { print $1 }' \
			/proc/[0-9]*/stat 2>/dev/null); do
			shares_a_cpu "$p" && bad=1
		done
		sleep 0.02
	done
	return $bad
}
cpus=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)
ok openmp-s-pinning-is-not-ours keeps_cpus

# --- budgets ------------------------------------------------------------------
exits tunes 0 tune mm.yaml:small --trials 12 --db a.db
ok trials-are-a-total [ "$(trials a.db)" = 12 ]
"$TUNEC" log export --db a.db >a.lines 2>/dev/null
ok store-at-rest-is-one-file sh -c '[ "$(ls a.db*)" = a.db ]'
exits covered 0 tune mm.yaml:small --trials 12 --db a.db
ok covered-says-so grep -q covered out
ok covered-knows-the-limit grep -q '^limit: [0-9]* % of what' out
"$TUNEC" log export --db a.db >again.lines 2>/dev/null
ok covered-measures-nothing cmp a.lines again.lines
exits covered-with-more 0 tune mm.yaml:small --trials 3 --db a.db
ok covered-with-more-says-so grep -q '12 trials: covered' out
exits resumes 0 tune mm.yaml:small --trials 20 --db a.db
ok resumed-to-the-total [ "$(trials a.db)" = 20 ]
exits more 0 tune mm.yaml:small --trials 5 --more --db a.db
ok more-spends-again [ "$(trials a.db)" -ge 25 ]
exits spends-time 0 tune mm.yaml:small --time 1s --db time.db
exits covered-by-time 0 tune mm.yaml:small --time 1s --db time.db
ok covered-by-time-says-so grep -q covered out
exits cold-spends-its-own-time 0 tune mm.yaml:small --cold --time 2s --db time.db
ok cold-is-not-covered-by-warm sh -c '! grep -q covered out'
# totals are over all operators: shared, what earlier runs made counted
exits total-of-one 0 tune mm.yaml:small --trials 8 --db total.db
exits total-is-covered 0 tune mm.yaml:small mm.yaml:other --trials 8 \
	--db total.db
ok total-covered-says-so grep -q 'the store has 8 trials: covered' out
ok total-covered-says-what-has-none grep -q 'it takes --trials 9' err
ok total-covered-measures-nothing [ "$(trials total.db)" = 8 ]
exits total-has-no-room 1 tune mm.yaml:small mm.yaml:other --trials 1 --db room.db
ok no-room-says-what-it-takes grep -q 'it takes --trials 2' err
ok no-room-measures-nothing [ "$(trials room.db)" = 0 ]
exits total-of-two 0 tune mm.yaml --trials 14 --db total.db --scheduler fixed
ok total-is-filled [ "$(trials total.db)" = 14 ]
ok total-is-evened-out [ "$("$TUNEC" log export mm.yaml:other --db total.db |
	grep -c '"round":"search"')" = 6 ]
sed 's/^cases:/weights: {small: 3}\ncases:/' mm.yaml >weighted.yaml
exits total-by-weights 0 tune weighted.yaml --trials 12 --db weighted.db \
	--scheduler fixed
ok total-goes-by-weights [ "$("$TUNEC" log export mm.yaml:small \
	--db weighted.db | grep -c '"round":"search"')" = 9 ]
exits bad-until 2 tune mm.yaml:small --until soon --db a.db
ok bad-until-says-how grep -q 'a part such as 3%' err
# of products that are left out there are more than the machine can do
cat >few.yaml <<'YAML'
tunec: 1
name: few
inputs: {a: 'f32[96, 512]', b: 'f32[512, 96]'}
compute: |
  y[i < 96, j < 96] = sum[k < 512](if k < 4 then a[i, k]*b[k, j] else 0)
YAML
exits past 0 tune few.yaml --trials 2 --db few.jsonl
ok past-the-peak-says-why grep -q '(the peak of .*; .*products with zeros may be left out)' out
ok past-the-limit-says-why grep -q \
	'^limit: 100 % of .*(past it: .*products with zeros may be left out); at most 0 %' out
exits total-time 0 tune mm.yaml --time 2s --db both.db
exits total-time-is-covered 0 tune mm.yaml --time 2s --db both.db
ok total-time-is-said [ "$(grep -c covered out)" = 2 ]
exits layers 0 tune mm.yaml:small --trials 3 --db layer.db --db total.db
ok first-layer-is-written [ "$(trials layer.db)" = 3 ]
ok second-layer-is-read [ "$(trials total.db)" = 14 ]
cp a.lines damaged.jsonl && echo 'no line' >>damaged.jsonl
exits damaged-line 0 tune mm.yaml:small --trials 12 --db damaged.jsonl
ok damaged-line-is-said grep -q 'damaged.jsonl:[0-9]*: damaged' err
# of another version: it counts as a trial, but neither a run nor build believes it
sed 's/"round":"final"/"round":"search"/' a.lines >searched.lines
awk '/"outcome":"ok"/ && ++n == 3 { sub(/"step":"[a-z_]*"/, "\"step\":\"novel\"")
	sub(/"time_s":[^,]*/, "\"time_s\":1e-7")
	sub(/"noise":[{][^}]*[}]/, "\"noise\":{\"probe\":0}")
	sub(/"id":"[0-9a-f]*"/, "\"id\":\"0123456789abcdef\"") } 1' searched.lines >novel.jsonl
exits novel-step 0 tune mm.yaml:small --trials 15 --db novel.jsonl
ok novel-step-is-said grep -q \
	'record 0123456789abcdef, .* does not apply: .*no such step; while it is there' err
ok novel-step-is-not-the-best sh -c 'grep -q "^  best " out && ! grep -q 0123456789abcdef out'
# a time that no machine takes, on a quiet one, likewise
tac searched.lines | awk '/"outcome":"ok"/ && ++n == 1 {
	sub(/"time_s":[^,]*/, "\"time_s\":1e-12")
	sub(/"noise":[{][^}]*[}]/, "\"noise\":{\"probe\":0}")
	sub(/"id":"[0-9a-f]*"/, "\"id\":\"fedcba9876543210\"") } 1' | tac >untrue.jsonl
exits untrue-time 0 tune mm.yaml:small --trials 15 --until 0.01% --db untrue.jsonl
ok untrue-time-is-said grep -q 'record fedcba9876543210, .* which no machine takes' err
ok untrue-time-is-not-the-best sh -c 'grep -q "^  best " out && ! grep -q fedcba9876543210 out'
exits no-such-case 1 tune mm.yaml:none --trials 2 --db a.db
ok names-cases grep -q small err
exits bad-number 2 tune mm.yaml:small --trials x --db a.db
exits bad-time 2 tune mm.yaml:small --time soon --db a.db
exits no-such-search 2 tune mm.yaml:small --search luck --db a.db
ok names-searches grep -q 'sa, evolve, ga, random, grid' err
exits no-such-scheduler 2 tune mm.yaml:small --scheduler luck --db a.db
ok names-schedulers grep -q 'gradient, round-robin, fixed' err
exits no-such-model 2 tune mm.yaml:small --model luck --db a.db
ok names-models grep -q 'xgboost, linear, neighbours, none' err
exits no-such-objective 2 tune mm.yaml:small --objective luck --db a.db
exits no-such-prior 2 tune mm.yaml:small --prior luck --db a.db
exits no-such-acquire 2 tune mm.yaml:small --acquire luck --db a.db
exits no-such-batch 2 tune mm.yaml:small --batch luck --db a.db
ok names-batches grep -q 'submodular, tiles, top' err
exits no-such-epsilon 2 tune mm.yaml:small --epsilon 1.5 --db a.db
ok nothing-twice sh -c '[ -z "$(grep "\"round\":\"search\"" a.lines |
	sed "s/.*\"trace\":\(.*\),\"outcome\".*/\1/" | sort | uniq -d)" ]'

# Candidate 1 of each before any has a second; the plain loops are no trial.
exits firsts-first 0 tune mm.yaml --trials 6 --db firsts.jsonl
ok firsts-are-of-each [ "$(grep '"round":"search"' firsts.jsonl | head -n 2 |
	grep -o '"case":"[a-z]*"' | sort -u | wc -l)" = 2 ]
ok plain-loops-are-no-trial sh -c '! grep "\"round\":\"search\"" firsts.jsonl |
	grep -q "\"trace\":\[{\"step\":\"parallel\",\"args\":\[[^]]*\]}\]"'
# 1 where none was measured, which is up to the machine
"$TUNEC" tune mm.yaml --time 10ms --db hurry.jsonl >out 2>err
ok no-time-for-firsts [ $? -le 1 ]
ok no-time-says-what-it-takes grep -q 'it takes about --time [1-9]' err

# --- several tuners at once ------------------------------------------------------
for db in many.db many.jsonl; do
	for i in 1 2 3 4; do
		"$TUNEC" tune --target "$target" mm.yaml:small --trials 40 \
			--db $db >/dev/null 2>&1 </dev/null &
	done
	wait
	n=$(trials $db)
	# one that each was measuring when the last was stored
	ok "tuners-share-their-budget-$db" [ $((n >= 40 && n <= 43)) = 1 ]
	"$TUNEC" log export --db $db 2>/dev/null | grep '"round":"search"' |
		sed 's/.*"trace":\(.*\),"outcome".*/\1/' | sort | uniq -d >twice
	# the plain loops, candidate 1, and what two had begun at one moment
	ok "tuners-share-what-they-visited-$db" [ "$(wc -l <twice)" -le 12 ]
done

# --- a clock that was set back ---------------------------------------------------
cat >clock.c <<'END'
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t c, struct timespec *t)
{
	int (*f)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int r = f(c, t);
	if (c == CLOCK_REALTIME)
		t->tv_sec -= 86400;
	return r;
}
END
"${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -o clock.so clock.c -ldl
quiet() { # as if the machine had been
	sed -i 's/,"noise":{[^}]*}//' "$1"
}
newest() { # of the lines, is the best of the last run?
	quiet "$1"
	best=$("$TUNEC" log best --db "$1" --json | sed 's/.*"run":"\([^"]*\)".*/\1/')
	[ "$best" = "$("$TUNEC" log export --db "$1" | grep run-start |
		tail -n 1 | sed 's/.*"id":"\([^"]*\)".*/\1/')" ]
}
exits clock 0 tune mm.yaml:small --trials 6 --db clock.jsonl
sed -i 's/"time_s":[0-9][^,]*/"time_s":1.0/' clock.jsonl # slower than what comes
LD_PRELOAD=$PWD/clock.so exits clock-set-back 0 tune mm.yaml:small --trials 12 \
	--db clock.jsonl
ok clock-does-not-freeze-the-best newest clock.jsonl

# --- a final round that was slower ------------------------------------------------
exits first-round 0 tune mm.yaml:small --trials 6 --db slow.jsonl
quiet slow.jsonl
sed -i '/"round":"final"/s/"time_s":[^,]*,"spread_s":[^,]*/"time_s":1e-08,"spread_s":0.0/' \
	slow.jsonl
exits slower-round 0 tune mm.yaml:small --trials 12 --db slow.jsonl
ok slower-round-is-said grep -Eq 'the final round of this run was (slower|disturbed)' out
ok slower-round-does-not-replace grep -q 'best 0.010 us' out
quiet slow.jsonl
exits accepts 0 tune mm.yaml:small --trials 12 --accept --db slow.jsonl
ok accepted-round-replaces sh -c '! grep -q "best 0.010 us" out'

{ # more arguments than most
	echo 'tunec: 1'; echo 'name: wide'; echo 'inputs:'
	for i in $(seq 20); do echo "  x$i: f32[64]"; done
	echo 'compute: |'
	echo "  y[i < 64] = 0$(seq -f ' + x%g[i]' -s '' 20)"
} >wide.yaml
exits tunes-many-inputs 0 tune wide.yaml --trials 3 --db wide.db

# values of a deep program do not overflow in the inputs that are drawn for it
{
	printf 'tunec: 1\nname: deep\ninputs:\n  x0: f32[8, 64]\n'
	for i in {1..24}; do echo "  w$i: const f32[64, 64]"; done
	echo 'compute: |'
	for i in {1..24}; do
		echo "  h$i[i < 8, j < 64] = sum[k < 64](x$((i - 1))[i, k]*w$i[k, j])"
		echo "  x$i[i < 8, j < 64] = max(h$i[i, j], 0)"
	done
} >deep.yaml
exits tunes-a-deep-program 0 tune deep.yaml --trials 6 --db deep.jsonl
# the whole is one trial where its layers' best are their first candidates
n=$(trials deep.jsonl)
ok deep-is-searched test "$n" = 5 -o "$n" = 6
ok deep-is-right sh -c '! grep -q "\"outcome\":\"wrong" deep.jsonl'
ok deep-driver "$TUNEC" build --db deep.jsonl --emit=c,main deep.yaml
ok deep-driver-compiles "${CC:-cc}" -O1 -fopenmp -w -o deep deep_main.c deep.c -lm
ok deep-driver-agrees ./deep

# --- plain loops that waited for their CPUs are not said to be slow
cat >tiny.yaml <<'YAML'
tunec: 1
name: tiny
inputs: {x: 'f32[64]'}
compute: |
  y[i < 64] = x[i]*2 + 1
YAML
busy=()
for i in 1 2 3 4 5 6; do
	timeout 3 sh -c 'while :; do :; done' &
	busy+=($!)
done
for i in 1 2 3; do
	"$TUNEC" tune tiny.yaml --trials 2 --db tiny-$i.jsonl
done >out 2>err
wait "${busy[@]}"
ok waiting-is-not-slow lacks out 'plain loops [0-9.]* m\?s: '

# --- log round trips, replay's exits ----------------------------------------------
ok exports "$TUNEC" log export --db a.db -o one.jsonl
ok imports "$TUNEC" log import one.jsonl --db two.db
"$TUNEC" log export --db two.db >two.lines 2>/dev/null
ok round-trip-keeps-bytes cmp one.jsonl two.lines
exits replay-right 0 "$TUNEC" replay mm.yaml:small --db one.jsonl
exits replay-none 3 "$TUNEC" replay mm.yaml:other --db one.jsonl
exits replay-no-such-case 1 "$TUNEC" replay mm.yaml:none --db one.jsonl
exits replay-usage 2 "$TUNEC" replay mm.yaml:small --max-slowdown fast \
	--db one.jsonl
exits replay-slower 4 "$TUNEC" replay mm.yaml:small --measure \
	--max-slowdown 0.0001 --db one.jsonl
ok replay-slower-is-said grep -q 'slower than recorded' err
exits replay-slower-json 4 "$TUNEC" replay mm.yaml:small --json \
	--max-slowdown 0.0001 --db one.jsonl
ok replay-slower-has-time grep -q '"result":"slow".*"measured_s":[0-9]' out
echo 'parallel(c.i)' >plain.trace
exits replay-trace 0 "$TUNEC" replay mm.yaml --trace plain.trace --json
ok replay-trace-runs-each [ "$(grep -c '"id":null,"result":"ok"' out)" = 2 ]
exits replay-no-trace 1 "$TUNEC" replay mm.yaml:small --trace none.trace
echo 'parallel(c.zz)' >bad.trace
exits replay-bad-trace 1 "$TUNEC" replay mm.yaml:small --trace bad.trace
for cpu in apple-m1 apple-m2; do
	"$TUNEC" tune mm.yaml:small --trials 2 --measure simulate --db far.jsonl \
		--target "llvm -mtriple=aarch64-linux-gnu -mcpu=$cpu -threads=1" \
		>/dev/null
	sed -i 's/,"measure":"simulate"//' far.jsonl # as if measured there
	[ $cpu = apple-m1 ] || break
	exits replay-only-target 0 "$TUNEC" replay mm.yaml:small --db far.jsonl
	ok replay-only-target-is-said grep -q 'which its records have' err
	ok replay-not-run-here grep -q 'not run here' out
	exits replay-require-run 1 "$TUNEC" replay mm.yaml:small \
		--require-run --db far.jsonl
	ok replay-require-run-is-said grep -q 'not run here' err
done
exits replay-several-targets 0 "$TUNEC" replay mm.yaml:small --db far.jsonl
ok replay-counts-them grep -q '2 not run here' out
exits replay-several-to-run 3 "$TUNEC" replay mm.yaml:small --db far.jsonl \
	--require-run
ok replay-names-targets grep -q 'apple-m1.*apple-m2' err
exits replay-one-of-several 0 "$TUNEC" replay mm.yaml:small --db far.jsonl \
	--target 'llvm -mtriple=aarch64-linux-gnu -mcpu=apple-m2 -threads=1'
exits replay-host-and-others 0 "$TUNEC" replay mm.yaml:small --db one.jsonl \
	--db far.jsonl --target "$target"
mkdir faulty
ln -s "$TUNEC_MODULES/tunec-xgboost.so" faulty
ok builds-a-faulty-compiler "${CC:-cc}" -std=gnu11 -shared -fPIC -I"$root" \
	-o faulty/tunec-llvm.so "$root/test/e2e/faulty_llvm.c"
faulty() {
	REAL_LLVM=$TUNEC_MODULES/tunec-llvm.so TUNEC_MODULES=$PWD/faulty "$@"
}
exits replay-wrong 4 faulty "$TUNEC" replay mm.yaml:small --db one.jsonl
ok replay-wrong-is-said grep -q wrong err
exits tunes-with-wrong-results 1 faulty "$TUNEC" tune --target "$target" \
	mm.yaml:small --trials 12 --db faulty.jsonl
ok wrong-results-are-said grep -q 'no valid trial; first failure: wrong' err
exits plain-loops-are-no-best 3 "$TUNEC" build mm.yaml:small --frozen -o f.o \
	--target "$target" --db faulty.jsonl
ok wrong-trials-are-stored grep -q '"outcome":"wrong' faulty.jsonl
exits errors-of-wrong-trials 0 "$TUNEC" log errors --json --db faulty.jsonl
sed -n 's/.*"command":"\([^"]*\)".*/\1/p' out | sed "s,tunec ,$TUNEC ,g" >again.sh
exits errors-command-reproduces 4 faulty sh again.sh
sed 's/name: mm/name: renamed/; s/\bi\b/row/g; s/\bj\b/column/g; s/\bk\b/depth/g
	s/\ba\b/left/g; s/\bb\b/right/g; s/\bc\b/result/g' mm.yaml >renamed.yaml
exits replay-renamed 0 "$TUNEC" replay renamed.yaml:small --db one.jsonl
exits frozen-renamed 0 "$TUNEC" build renamed.yaml:small --frozen \
	--target "$target" --db one.jsonl -o renamed.o
exits frozen-none 3 "$TUNEC" build mm.yaml:other --frozen --db one.jsonl -o n.o
ok frozen-writes-nothing [ ! -e n.o ]

# --- killed at random moments --------------------------------------------------------
children() { # of a session; the dead that nobody waits for do not count
	cat /proc/[0-9]*/stat 2>/dev/null |
		grep -c "^[0-9]* (.*) [^Z] [0-9]* [0-9]* $1 "
}
gone() { # a session: within a second or two
	for _ in {1..20}; do
		[ "$(children "$1")" = 0 ] && return
		sleep 0.1
	done
	return 1
}
for after in 0.3 0.7 1.1 1.6; do
	for db in kill.db kill.jsonl; do
		before=$(trials $db)
		setsid "$TUNEC" tune --target "$target" mm.yaml:small --more \
			--time 30s --db $db >/dev/null 2>&1 </dev/null &
		pid=$!
		sleep $after
		kill -9 $pid
		wait $pid 2>/dev/null
		ok "no-process-left-$db-$after" gone $pid
		kept=$(trials $db)
		ok "trials-are-kept-$db-$after" [ "$kept" -ge "$before" ]
	done
done
ok killed-runs-kept-some [ "$(trials kill.db)" -gt 2 ]
exits killed-store-goes-on 0 tune mm.yaml:small --more --trials 3 --db kill.db
exits killed-lines-go-on 0 tune mm.yaml:small --more --trials 3 --db kill.jsonl
ok killed-store-is-whole sh -c '[ "$(sqlite3 kill.db "pragma integrity_check")" = ok ]'

# --- interrupted -----------------------------------------------------------------------
"$TUNEC" tune --target "$target" mm.yaml:small --time 30s --db int.db \
	>/dev/null 2>&1 &
pid=$!
for _ in {1..100}; do # built with asan it begins late
	sleep 0.2
	[ "$(trials int.db)" -gt 1 ] && break
done
kill -INT $pid
wait $pid
ok interrupted-is-130 [ $? = 130 ]
ok interrupted-keeps-trials [ "$(trials int.db)" -gt 1 ]

# Before candidate 1 is there, too: the plain nest of this takes seconds.
sed 's/name: mm/name: big/; s/M: 33, N: 40, K: 29/M: 2048, N: 2048, K: 2048/' \
	mm.yaml >big.yaml
"$TUNEC" tune --target "$target" big.yaml:small --trials 50 --db early.jsonl \
	>/dev/null 2>&1 &
pid=$!
for _ in {1..100}; do
	sleep 0.1
	grep -q run-start early.jsonl 2>/dev/null && break
done
kill -INT $pid
wait $pid
ok interrupted-early-is-130 [ $? = 130 ]
ok interrupted-early-is-marked grep -q '"kind":"run-end".*"complete":false' \
	early.jsonl

# --- stores that cannot be used ----------------------------------------------------------
echo 'this is no store' >no.db
cp no.db no.copy
exits no-store 1 tune mm.yaml:small --trials 3 --db no.db
ok no-store-is-said grep -q no.db err
ok no-store-is-left cmp no.db no.copy
exits no-folder 1 tune mm.yaml:small --trials 3 --db no/where.db
"$TUNEC" log export --db a.db 2>/dev/null | head -n 8 >full.jsonl
size=$(stat -c %s full.jsonl)
cp full.jsonl full.copy
exits full-disk 1 bash -c 'ulimit -f $1; shift; exec "$@"' bash \
	$((size / 1024 + 1)) "$TUNEC" tune --target "$target" mm.yaml:small \
	--more --trials 50 --db full.jsonl
ok full-disk-is-said grep -q full.jsonl err
ok full-disk-loses-nothing sh -c 'head -c $(stat -c %s full.copy) full.jsonl |
	cmp - full.copy'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
else
	as=
fi
mkdir locked && cp one.jsonl a.db locked && chmod a-w locked locked/*
chmod a+rx "$tmp"
if $as test -r locked/a.db && $as test -x "$TUNEC" && ! $as test -w locked/a.db; then
	# shellcheck disable=SC2086
	for db in a.db one.jsonl; do
		exits "read-only-$db" 1 $as "$TUNEC" tune --target "$target" \
			mm.yaml:small --more --trials 2 --db locked/$db
		exits "read-only-$db-is-read" 0 $as "$TUNEC" log best \
			--db locked/$db
	done
fi

# --- a schedule by hand ------------------------------------------------------------
cat >hand.tr <<'END'
i0, i1 = split(c.i, [_, 3])
parallel(i0)
END
exits by-hand 0 tune mm.yaml:small --trace hand.tr --time 20s --db hand.jsonl
ok two-trials [ "$(trials hand.jsonl)" = 2 ]
ok one-is-the-trace has hand.jsonl '"step":"parallel"'
exits by-hand-again 0 tune mm.yaml:small --trace hand.tr --time 20s --db hand.jsonl
ok it-is-not-measured-again [ "$(trials hand.jsonl)" = 2 ]
exits of-no-file 1 tune mm.yaml:small --trace nowhere.tr --db none.jsonl
echo 'parallel(c.q)' >wrong.tr
exits a-trace-that-does-not-apply 1 tune mm.yaml:small --trace wrong.tr --db none.jsonl
ok its-place-is-said has err '^wrong.tr:1:[0-9]*: error: '
echo 'i0, i1 = split(c.i, ? in tile(2))' >open.tr
exits an-open-decision 1 tune mm.yaml:small --trace open.tr --db none.jsonl
ok no-store-is-made absent none.jsonl

# --schedule: the decisions of one of the spec's alone.
{
	cat mm.yaml
	printf 'schedule: |\n  rows:\n    io, ii = split(c.i, ? in tile(2))\n'
	printf '    unroll(ii)\n  cols:\n    jo, ji = split(c.j, ? in tile(2))\n'
} >named.yaml
exits named 0 tune named.yaml:small --schedule rows --trials 4 --db named.jsonl
ok only-its-steps [ "$(grep -c '"args":\["d0.a1",' named.jsonl)" = 0 ]
ok all-its-steps [ "$(grep -c '"step":"split".*"step":"unroll"' named.jsonl)" -ge 2 ]
exits named-otherwise 1 tune named.yaml:small --schedule row --db none.jsonl
ok names-are-said has err "no schedule 'row' (rows, cols); is it 'rows'?"
exits named-of-none 1 tune mm.yaml:small --schedule rows --db none.jsonl
exits named-and-by-hand 2 tune named.yaml:small --schedule rows --trace hand.tr
ok none-is-written absent none.jsonl

# No limit on axes: of a definition, of a reduction, of what is read.
many=$(seq -s ' ' 80)
{
	echo "tunec: 1"
	echo "name: axes"
	echo "inputs: {x: 'f32[$(printf '1, %.0s' $many)8]'}"
	echo "compute: |"
	echo "  y[$(printf 'a%s < 1, ' $many)b < 8] = x[$(printf 'a%s, ' $many)b] + 1"
	echo "  z[b < 8] = sum[$(printf 'r%s < 1, ' $many)q < 1](y[$(printf 'r%s, ' $many)b])"
	echo "outputs: [y, z]"
} >axes.yaml
exits eighty-axes 0 "$TUNEC" tune axes.yaml --trials 10 --db axes.jsonl
exits eighty-axes-replay 0 "$TUNEC" replay axes.yaml --db axes.jsonl
cd "$root" || exit 1
