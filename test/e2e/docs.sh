#!/bin/bash
# The pages as tests: every block of README.md, CONTRIBUTING.md and docs/ is
# run and compared, or says why not.  A block, indented or fenced, is
#
#     $ command           a session: each command is run, what it prints compared
#     what it prints      with the lines below it (... stands for any lines); a
#                         session that shows no output is only run
#     tunec VERB   what   commands, with an explanation behind two blanks: run
#     make TARGET         there is such a target
#     nest --> nest       a nest before and after a step: not run
#
# or has a comment on a line before it, which no reader of the page sees:
#
#     <!-- check: COMMAND -->     COMMAND, with the block as its input, succeeds
#     <!-- not run: WHY -->       a grammar, a diagram
#     <!-- run: COMMAND -->       no block: what the page needs from here on
#
# Any other block is a failure.  A command exits 0, or not 0 where an error is
# shown.  Each page has a folder with the workloads in it.  What a machine or a
# run decides is masked (mask, below), counts and sizes are not.
. "$(dirname "$0")/lib.sh"
real=$TUNEC
system_path=$PATH
export root real system_path

# --- what stands in for what is shown -----------------------------------------
# A tunec with small budgets: 3 trials for a --time, 14 for --trials, two seconds to
# measure the machine, and small operators but where sizes are shown (check, space, a
# header); no replay is too slow.  SPEC and 3f9a, the id of a record, stand for what
# there is.
mkdir bin
cat >bin/tunec <<'END'
#!/bin/bash
args=() small=()
while [ $# -gt 0 ]; do
	case $1 in
	--time) args+=(--trials 3); shift ;;
	--trials) args+=(--trials 14); shift ;;
	--max-slowdown) args+=(--max-slowdown 1000); shift ;;
	SPEC) args+=(conv2d.yaml:resnet18_c6) ;;
	3f9a) args+=("$("$real" log list | awk 'NR == 2 {print $1}')") ;;
	*) args+=("$1") ;;
	esac
	shift
done
case ${args[*]} in
check*|space*|*--emit=h) ;;
target*--measure*) small=(--time 2s) ;;
*gemm_gelu.yaml*) small=(-D M=16 -D N=64 -D K=64) ;;
*conv2d.yaml*) small=(-D H=8 -D W=8 -D CI=16 -D CO=16) ;;
esac
exec "$real" "${args[@]}" "${small[@]}"
END
printf '#!/bin/sh\nexec cat\n' >bin/less
# make demo, with a small convolution and little time, which with sanitizers would be
# none for candidate 1.
cat >bin/make <<'END'
#!/bin/sh
[ "$*" = demo ] || exit 2
mkdir -p tree/test/tools tree/demo tree/workloads tree/build
cp "$root/test/tools/demo.sh" tree/test/tools
cp "$root/demo/Makefile" tree/demo
sed 's/C = 128, H = 28, W = 28, K = 128/C = 16, H = 8, W = 8, K = 16/' \
	"$root/demo/demo.c" >tree/demo/demo.c
sed 's/^  \([HW]\): .*/  \1: 8/; s/^  \(C[IO]\): .*/  \1: 16/' \
	"$root/workloads/conv2d.yaml" >tree/workloads/conv2d.yaml
ln -sf "$real" tree/build/tunec
for module in "$TUNEC_MODULES"/tunec-*.so; do
	ln -sf "$module" tree/build
done
[ "${VARIANT:-release}" = release ] && time=3s || time=9s
PATH=$system_path BUILD=build TIME=$time exec sh tree/test/tools/demo.sh
END
chmod +x bin/*
PATH=$tmp/bin:$PATH

# Commands for a machine that this one need not be; prints which.
elsewhere() { # command
	case $1 in
	*'tunec tune '*-mcpu=*)
		local target=${1#*--target \'}
		"$real" target "${target%%\'*}" | grep -q '^runs here' ||
			echo 'tunes for another CPU'
		;;
	*'tunec tune '*'--target opencl'*)
		"$real" target opencl | grep -q '^runs here' ||
			echo 'tunes for a device'
		;;
	esac
}

# What differs from run to run and from machine to machine.  A peak that was
# measured beside others is less than a kernel reaches.
mask() { # a machine that was not quiet has a line of its own
	sed -E -e '/^ *the final round of this run was (slower|disturbed)/d' \
		-e 's/, disturbed by other work: no comparison/: 0 times slower/' \
		-e 's/\<[0-9a-f]{16}\>/ID/g' \
		-e 's/llvm -mtriple=\S+ -mcpu=\S+ -mattr=\S* -threads=[0-9]+/TARGET/' \
		-e 's/[0-9.]+ (ns|us|ms|s)\>/TIME/g' \
		-e 's/[0-9.]+ [KMGT]FLOP\/s/SPEED/g' \
		-e 's/[0-9.]+ %/SHARE/g' \
		-e 's/ \(the peak of SPEED; [^)]*\)/, SHARE of the peak of SPEED/' \
		-e "s/[0-9.]+ GB.s, SHARE of a copy's [0-9.]+ GB.s/SHARE of the peak of SPEED/" \
		-e "s/[0-9.]+ GB.s \(a copy's [0-9.]+ GB.s; [^)]*\)/SHARE of the peak of SPEED/" \
		-e 's/^(.*: )[0-9]+ trials in (.*), [0-9]+ failed/\1N trials in \2, N failed/' \
		-e 's/[0-9.]+ a second/N a second/' \
		-e 's/[0-9.]+ times slower/N times slower/' \
		-e 's/(largest (error|difference from .*:)) [0-9.e+-]+/\1 N/' \
		-e 's/TIME +[0-9.]+ +SHARE$/TIME SPEED SHARE/' \
		-e 's/(FMA peak, all threads) +[0-9.]+$/\1 SPEED/' \
		-e 's/\s+$//; /ID|TARGET|TIME|SPEED|SHARE/s/\s+/ /g'
}

# --- comparing ----------------------------------------------------------------
# Whether the lines of a file are those of another; a line "..." of the first
# stands for any.  Prints where they part.
alike() { # shown, printed
	awk '/^[ \t]*\.\.\.$/ {$0 = "..."}
	FNR == NR {shown[++n] = $0; next}
	{printed[++m] = $0}
	END {
		i = j = 1
		while (j <= m) {
			if (i > far) {
				far = i
				at = j
			}
			if (shown[i] == "..." && i <= n) {
				star = i++
				from = j
			} else if (i <= n && shown[i] == printed[j]) {
				i++
				j++
			} else if (star) {
				i = star + 1
				j = ++from
			} else {
				break
			}
		}
		while (shown[i] == "...")
			i++
		if (j > m && i > n)
			exit 0
		if (j > m && i > far) {
			far = i
			at = j
		}
		printf "shown \"%s\", printed \"%s\"\n", shown[far], printed[at]
		exit 1
	}' "$1" "$2"
}
compare() { # shown, printed
	mask <"$1" >shown.masked
	mask <"$2" >printed.masked
	alike shown.masked printed.masked
}

# --- checks that the pages name -----------------------------------------------
# The block is a part of what the command prints.
part_of() { # command
	(echo ... && cat && echo ...) >part.shown
	"$@" >part.printed 2>&1
	compare part.shown part.printed
}
# Its operator is the one of the file, in every case that it has.
same_operator() { # spec
	cat >block.yaml
	"$real" check --json block.yaml |
		sed -n 's/.*"case": "\([^"]*\)".*"op": "\([^"]*\)".*/\1 \2/p' >ops
	[ -s ops ] && while read -r name op; do
		"$real" check --json "$1:$name" | grep -q "\"op\": \"$op\"" || {
			echo "case $name is another operator than in $1"
			return 1
		}
	done <ops
}
# Steps: they parse, as a template of the matrix product.
template() {
	(cat workloads/matmul.yaml && printf 'schedule: |\n  steps:\n' &&
		sed 's/^/    /') | "$real" check -
}
# C statements: they compile, with a header and what they call by its name.
compiles_with() { # header
	(printf '#include <stdlib.h>\n#include "%s"\n' "$1" &&
		printf 'void f(float *, float *, float *, void *);\n' &&
		printf 'void f(float *data, float *raw_weight, float *out, ' &&
		printf 'void *bias)\n{\n' && cat && echo '}') >block.c
	cc -Wall -Wextra -Werror -fsyntax-only block.c
}
# A command that prints the id of the line in the file "line".
gives_id() {
	"$real" log export 2>said | tail -n 1 >line
	[ "$(bash)" = "$(sed 's/.*"id":"\([^"]*\)".*/\1/' line)" ]
}
# A tree: the first words are folders of the repository.
folders() {
	while read -r folder _; do
		[ -d "$root/$folder" ] || {
			echo "$folder is no folder"
			return 1
		}
	done
}

# Targets of make, and names for ONLY: groups of the bench, or test files.
make_has() { # words of a command
	local word only='' bench=''
	for word in "$@"; do
		case $word in
		ONLY=*) only=${word#ONLY=} ;;
		make|*=*) ;;
		bench) bench=yes ;;&
		*) grep -q "^$word:" "$root/Makefile" || {
			echo "make has no target $word"
			return 1
		} ;;
		esac
	done
	case $only in
	''|NAME) return 0 ;;
	esac
	if [ "$bench" ] || [ $# = 1 ]; then
		grep -q "^benches=.*\<$only\>" "$root/test/bench/run.sh" &&
			return 0
	fi
	if [ ! "$bench" ]; then
		(cd "$root/test" && ls -d ./*/*) | sed 's/^\.//' |
			grep -q "$only" && return 0
	fi
	echo "nothing is named $only"
	return 1
}

# --- blocks -------------------------------------------------------------------
# Blocks of a page: a line "LINE KIND FILE COMMAND" for each, and its text in
# FILE.
blocks() { # page
	awk 'function out(kind, file, command) {
		print start, kind, file, command
	}
	function begin() {
		start = FNR
		file = "block." ++count
		printf "" >file
		blank = ""
	}
	function end() {
		close(file)
		out(kind ? kind : "plain", file, command)
		kind = command = file = ""
	}
	function marker(name,    text) {
		if (index($0, "<!-- " name ": ") != 1 || !/ -->$/)
			return 0
		command = substr($0, length(name) + 8)
		sub(/ -->$/, "", command)
		return 1
	}
	fence && $0 !~ fence {print >file; next}
	fence {end(); fence = 0; next}
	file && /^(    |\t)/ {
		sub(/^(    |\t)/, "")
		printf "%s%s\n", blank, $0 >file
		blank = ""
		next
	}
	file && /^[ \t]*$/ {blank = blank "\n"; next}
	file {end()}
	/^```/ {begin(); fence = "^```[ \t]*$"; next}
	/^(    |\t)/ && !text {
		begin()
		sub(/^(    |\t)/, "")
		print >file
		next
	}
	{text = $0 !~ /^[ \t]*$|^#|^<!--/}
	kind && text {start = FNR; out("stray", "-", command); kind = ""}
	marker("run") {start = FNR; out("run", "-", command)}
	marker("check") {kind = "check"}
	marker("not run") {kind = "not"}
	END {if (file) end()}' "$1"
}

said=$tmp/said
place= # page:line
result() { # name, exit status; what was said is in $said
	if [ "$2" = 0 ]; then
		echo "ok $place ${1%%$'\n'*}"
	else
		echo "not ok $place ${1%%$'\n'*}: $(tail -n 3 "$said" | tr '\n' ' ')"
	fi
}
run() { # command
	local why
	why=$(elsewhere "$1")
	if [ "$why" ]; then
		echo "ok $place $1 (not run: $why)"
		return
	fi
	bash -c "$1" >printed 2>&1 </dev/null
	local rc=$?
	cp printed "$said"
	[ $rc = 0 ] || echo "exit $rc" >>"$said"
	if grep -q 'error:' shown; then
		[ $rc != 0 ]
		rc=$?
	fi
	[ $rc = 0 ] && [ "$compared" ] && {
		compare shown printed >"$said"
		rc=$?
	}
	result "$1" $rc
}

# Lines behind "<<END" belong to the command.
session() { # block
	local line command='' here='' compared=''
	awk '/^\$ / {here = /<<END/; next}
		here {here = !/^END$/; next}
		{exit found = 1}
		END {exit !found}' "$1" && compared=yes
	: >shown
	while IFS= read -r line; do
		if [ "$here" ]; then
			command+=$'\n'$line
			[ "$line" = END ] && here=
			continue
		fi
		case $line in
		'$ '*)
			[ "$command" ] && run "$command"
			command=${line#??}
			[[ $command = *'<<END'* ]] && here=yes
			: >shown
			;;
		*) printf '%s\n' "$line" >>shown ;;
		esac
	done <"$1"
	run "$command"
}
commands() { # block
	local line compared=''
	: >shown
	while IFS= read -r line; do
		line=$(sed 's/   *[^ #].*//; s/^ *#.*//; s/  *# .*//' <<<"$line")
		case $line in
		'') ;;
		make|make\ *|ONLY=*)
			make_has $line >"$said"
			result "$line" $?
			;;
		*) run "$line" ;;
		esac
	done <"$1"
}
block() { # kind, file, command
	: >"$said"
	case $1 in
	run) compared='' && : >shown && run "$3" ;;
	check)
		eval "$3" <"$2" >"$said" 2>&1
		result "$3" $?
		;;
	not) echo "ok $place not run: $3" ;;
	stray) echo "not ok $place a comment that no block follows: $3" ;;
	plain)
		case $(head -n 1 "$2") in
		'$ '*) session "$2" ;;
		tunec\ *|make|make\ *|ONLY=*) commands "$2" ;;
		*)
			if grep -q -e ' -->' "$2"; then
				echo "ok $place a nest before and after"
			else
				echo "not ok $place neither run nor compared"
			fi
			;;
		esac
		;;
	esac
}

# --- what stands in the text --------------------------------------------------
# Commands of make, verbs, options, files, operators and links.
spans() { # page: what is between backquotes
	awk '/^(    |\t)/ {next} {print}' "$1" | grep -o '`[^`]*`' | tr -d '`'
}
text() { # page
	local span
	spans "$1" | grep -E '^(ONLY=\S+( make .*)?|make( .*)?)$' | sort -u |
		while read -r span; do
			make_has $span >"$said"
			result "$span" $?
		done
	spans "$1" | grep -oE '^tunec [a-z]+' | sort -u |
		while read -r span; do
			"$real" ${span#tunec } --help >"$said" 2>&1
			result "$span" $?
		done
	spans "$1" | grep -oE '(^| )--[a-z][a-z-]*' | tr -d ' ' | sort -u |
		while read -r span; do
			grep -q -e "$span\>" "$tmp/help"
			result "option $span" $?
		done
	spans "$1" | grep -oE 'workloads/\w+\.yaml(:\w+)?' | sort -u |
		while read -r span; do
			"$real" check -q "$span" >"$said" 2>&1
			result "$span" $?
		done
	spans "$1" | grep -E \
		'^(cmd|tuner|schedule|codegen|ir|lib|test|demo|docs)/[a-z_*./]*$' |
		sort -u | while read -r span; do
			compgen -G "$root/$span" >/dev/null
			result "file $span" $?
		done
	sed 's/`[^`]*`//g; /^    /d; /^\t/d' "$1" | grep -oE '\]\([^)]+\)' |
		tr -d '()]' | sort -u |
		while read -r span; do
			link "$1" "$span" >"$said"
			result "link $span" $?
		done
}
link() { # page, FILE.md#HEADING
	local file=${2%%#*} heading=''
	[[ $2 = *'#'* ]] && heading=${2#*#}
	file=${file:+$(dirname "$1")/$file}
	file=${file:-$1}
	[ -e "$file" ] || return 1
	[ -z "$heading" ] || sed -n 's/^#* //p' "$file" | tr 'A-Z ' 'a-z-' |
		tr -dc 'a-z0-9_\n-' | grep -qx -e "$heading"
}

page() { # file
	local line kind file command
	mkdir "$tmp/page" && cd "$tmp/page" || exit 1
	ln -s "$workloads" workloads
	cp workloads/*.yaml .
	place=${1#"$root/"}
	text "$1"
	blocks "$1" >index
	while read -r line kind file command; do
		place=${1#"$root/"}:$line
		block "$kind" "$file" "$command"
	done <index
	cd "$tmp" && rm -rf page
}

for verb in '' $(sed -n 's/^VERB(\(\w*\).*/\1/p' "$root/cmd/verbs.def"); do
	"$real" $verb --help
done >"$tmp/help"
for file in "$root"/README.md "$root"/CONTRIBUTING.md "$root"/docs/*.md; do
	page "$file"
done

# --- that mistakes are found --------------------------------------------------
cat >wrong.md <<'END'
`make nothing`, `make bench ONLY=nothing`, `ONLY=nothing make test`,
`tunec nothing`, `--nothing`, `workloads/nothing.yaml`, `ir/nothing.c`,
[a page](nothing.md), [a heading](wrong.md#nothing).

    neither run nor compared

```text
fenced, neither run nor compared
```

    make nothing
    tunec check nothing.yaml    is not there

Too much, too little, something else:

    $ printf 'one\ntwo\n'
    one
    $ echo one
    one
    two
    $ echo 'in 1.5 s, 7 sketches'
    in 2.5 s, 6 sketches
    $ printf 'a\nb\n'
    ...
    a
    $ echo error: but it did not fail
    error: but it did not fail
    $ echo shown; false
    shown

<!-- check: false -->

    wrong

<!-- check: part_of printf 'one\n  two\n' -->

    one
    two

<!-- check: grep . -->
A comment that no block follows.
END
page "$tmp/wrong.md" >found
mistakes=$((9 + 2 + 2 + 6 + 3))
if [ "$(grep -c '^not ok' found)" = $mistakes ] && ! grep -q '^ok' found; then
	echo "ok finds $mistakes mistakes"
else
	echo "not ok finds $mistakes mistakes: $(grep -c '^not ok' found)" \
		"found, passed $(grep '^ok' found | tr '\n' ' ')"
fi
