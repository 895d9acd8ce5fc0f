#!/bin/bash
# tunec target: texts, JSON, what is missing.
. "$(dirname "$0")/lib.sh"
says() { # text, pattern
	printf '%s\n' "$1" | grep -q -- "$2"
}
host=$("$TUNEC" target --print)

ok host-is-canonical [ "$("$TUNEC" target --print "$host")" = "$host" ]
ok host-has-all-keys says "$host" \
	'^llvm -mtriple=[^ ]* -mcpu=[^ ]* -mattr=[^ ]* -threads=[0-9]*$'
ok host-runs-here says "$("$TUNEC" target "$host")" '^runs here'
ok json says "$("$TUNEC" target --json)" '^{"host":"llvm .*"modules":'
ok no-driver-no-devices says "$(OCL_ICD_VENDORS=$tmp "$TUNEC" target --json)" \
	'"devices":\[\]'
if "$TUNEC" target --json | grep -q '"through":"opencl"'; then
	ok device says "$("$TUNEC" target)" '^devices   opencl [a-z]*, .*, OpenCL '
	ok its-limits says "$("$TUNEC" target)" '^ *groups of [0-9]*, .* shared'
else
	echo '# no device of OpenCL is here: none is listed'
fi
ok foreign says "$("$TUNEC" target 'llvm -mcpu=apple-m1 -threads=1' \
	'llvm -mcpu=x86-64 -threads=1')" 'does not run here'

exits unknown-key-is-usage 2 "$TUNEC" target 'llvm -foo=1'
printf 'tunec: 1\nname: twice\ninputs: {a: "f32[8]"}\ncompute: |\n  b[i < 8] = a[i]*2\n' \
	>twice.yaml
# a vector that is kept on the stack crosses no line there
ok stack-is-aligned-for-vectors says "$("$TUNEC" build -q twice.yaml -o - \
	--emit=ll --target 'llvm -mcpu=x86-64-v3' --db none.db)" '"stackrealign"'
for verb in 'tune --trials 1' space replay 'log best' 'log explain' 'show --stage=c'; do
	# shellcheck disable=SC2086
	exits "unknown-key-is-usage-of-${verb// /-}" 2 "$TUNEC" $verb twice.yaml \
		--target 'llvm -foo=1'
	[ "$verb" = 'log best' ] && continue
	# shellcheck disable=SC2086
	exits "environment-is-read-by-${verb// /-}" 2 env TUNEC_TARGET=nosuch \
		"$TUNEC" $verb twice.yaml
done
for verb in check show space tune build replay log target; do
	exits "help-of-$verb" 0 "$TUNEC" $verb --help
	ok "help-of-$verb-ends-its-line" [ -z "$(tail -c 1 out)" ]
	ok "help-of-$verb-is-no-message" [ ! -s err ]
done
exits opencl-has-a-device 0 "$TUNEC" target 'opencl -device=cpu512'
exits unknown-device-is-usage 2 "$TUNEC" target 'opencl -device=0'
out=$(TUNEC_MODULES=/nonexistent "$TUNEC" target)
ok missing-module-is-named says "$out" 'no /nonexistent/tunec-llvm.so'
# the module is found beside the program
out=$(env -u TUNEC_MODULES "$TUNEC" target)
ok module-beside-program says "$out" 'tunec-llvm.so *works: LLVM'

# --- the names of CPUs
exits cpus 0 "$TUNEC" target --cpus
ok cpus-are-listed has out '^haswell$'
exits cpus-of-another 0 "$TUNEC" target --cpus 'llvm -mtriple=aarch64-linux-gnu'
ok cpus-of-another-are-its-own has out '^cortex-a72$'
exits cpus-of-none 1 "$TUNEC" target --cpus c
exits cpu-mistyped 2 "$TUNEC" target 'llvm -mcpu=haswel'
ok cpu-mistyped-is-asked has err "is it 'haswell'? (\`tunec target --cpus\`"
printf 'tunec: 1\nname: op\ninputs: {x: "f32[8]"}\ncompute: |\n  y[i < 8] = x[i] + 1\n' >op.yaml
exits no-linker 1 env CC=no-such-compiler "$TUNEC" build op.yaml --db none.db \
	--target 'llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72' -o op.so
ok no-linker-says has err "for aarch64-linux-gnu: 'no-such-compiler -shared' failed; \$CC"
