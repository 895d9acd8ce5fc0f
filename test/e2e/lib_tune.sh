# What the scripts of tune share: the command, what it measured, an operator.
. "$(dirname "$0")/lib.sh"
tune() {
	"$TUNEC" tune --target "$target" "$@"
}
trials() { # store: search trials in it
	"$TUNEC" log export --db "$1" 2>/dev/null |
		grep -c '"kind":"trial".*"round":"search"'
}
host=$("$TUNEC" target --print)
target=${host% -threads=*}' -threads=2'

cat >mm.yaml <<'END'
tunec: 1
name: mm
params: {M: 33, N: 40, K: 29}
inputs: {a: "f32[M, K]", b: "const f32[K, N]"}
compute: |
  c[i < M, j < N] = sum[k < K](a[i, k]*b[k, j])
cases:
  small: {}
  other: {M: 17}
END
