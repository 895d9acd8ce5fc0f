# Sourced by run.sh: make bench ONLY=gpu [TIME=60s] [ARCH=sm_90] [ROW=regex]
# [TRITON=0].
#
# Operators on a GPU of NVIDIA's, tuned, against the fastest of what torch has for
# them there (cuBLAS, cuDNN, Triton by torch.compile; test/bench/gpu_peers.py, in
# the same minutes, by events, on random data).  Softmax and norms are held to
# the bandwidth of a copy.  Without a GPU it goes as far as that goes: the best of
# the analytic model, compiled and looked at.

gpu_rows() { # NAME SPEC WANTED PEER...
	local n
	for n in 1024 2048 4096; do
		echo "product_f32_$n products.yaml:f32_$n 0.9 matmul $n float32"
	done
	for n in 4096 8192; do
		echo "product_f16_$n products.yaml:f16_$n 0.75 matmul $n float16"
		echo "product_bf16_$n products.yaml:bf16_$n 0.75 matmul $n bfloat16"
	done
	# layer: C H K R stride pad
	while read -r n ci h co r stride pad; do
		echo "$n conv2d.yaml:resnet18_$n 0.9 conv $ci $h $co $r $stride $pad"
	done <<-'END'
		c1 3 224 64 7 2 3
		c2 64 56 64 3 1 1
		c3 64 56 64 1 1 0
		c4 64 56 128 3 2 1
		c5 64 56 128 1 2 0
		c6 128 28 128 3 1 1
		c7 128 28 256 3 2 1
		c8 128 28 256 1 2 0
		c9 256 14 256 3 1 1
		c10 256 14 512 3 2 1
		c11 256 14 512 1 2 0
		c12 512 7 512 3 1 1
	END
	echo "attention attention.yaml:bert_base 0.7 attention 12 128 64"
	echo "softmax softmax.yaml:sfm_2048 0.9 copy 33554432"
	echo "layer_norm layer_norm.yaml:bert_128 0.9 copy 792576"
}

gpu_specs() { # the products; the rest are those of workloads/
	local type n
	cp workloads/*.yaml "$1"
	for type in f32 f16 bf16; do
		cat >"$1/$type.yaml" <<-END
			tunec: 1
			name: product_$type
			params: {N: 4096}
			inputs: {a: "$type[N, N]", b: "$type[N, N]"}
			compute: |
			  c[i < N, j < N] = $type(sum[k < N](f32(a[i, k]) * f32(b[k, j])))
			cases:
		END
		for n in 1024 2048 4096 8192; do
			echo "  n$n: {N: $n}" >>"$1/$type.yaml"
		done
	done
}

gpu() {
	local at=$work/gpu arch=${ARCH:-} name spec wanted peer took best ms
	rm -rf "$at" && mkdir -p "$at"
	gpu_specs "$at"
	[ -n "$arch" ] || arch=$($tunec target --json |
		sed -n 's/.*"arch":"\(sm_[0-9a-z]*\)".*/\1/p' | head -n 1)
	[ "$arch" != sm_90 ] || arch=sm_90a # warpgroups
	if [ -z "$arch" ]; then
		echo 'no GPU is here: what the model thinks best for sm_90, compiled'
		gpu_look "$at" sm_90
		return
	fi
	python3 test/bench/gpu_peers.py --about 2>/dev/null ||
		echo 'no torch with CUDA is here: peers are not measured'
	gpu_rows | while read -r name spec wanted peer; do
		[[ ! $name =~ ${ROW:-.} ]] || echo "$name $peer"
	done | python3 test/bench/gpu_peers.py >"$at/peers" 2>/dev/null
	while read -r name spec wanted peer; do
		[[ $name =~ ${ROW:-.} ]] || continue
		$tunec tune "$at/$(gpu_spec "$spec")" --time "$time" \
			--target "cuda -arch=$arch" --db "$at/db.jsonl" \
			>"$at/$name.out" 2>&1 || { cat "$at/$name.out"; failed=1; }
		best=$(awk -v n="$name" '$1 == n { print $2 }' "$at/peers")
		took=$($tunec log best "$at/$(gpu_spec "$spec")" --json \
			--db "$at/db.jsonl" | sed -n 's/.*"time_s":\([0-9.e+-]*\).*/\1/p')
		ms=$(awk -v x="${took:-0}" 'BEGIN {printf "%.4f", x*1e3}')
		row "$name" "$(awk -v p="${best:-x}" -v t="$ms" 'BEGIN {
			if (p + 0 > 0 && t + 0 > 0) printf "%.2f", p / t
			else print "-" }')" x at-least "$wanted" \
			"$ms ms, peer ${best:-none} ms"
	done < <(gpu_rows)
	row 'trials a second' "$(sed -n 's/.*(\([0-9.]*\) a second).*/\1/p' \
		"$at/product_f32_1024.out" 2>/dev/null | head -n 1)" '' at-least 20
}

# "products.yaml:f16_4096" is f16.yaml:n4096
gpu_spec() {
	case $1 in
	products.yaml:*)
		local of=${1#*:}
		echo "${of%_*}.yaml:n${of#*_}"
		;;
	*) echo "$1" ;;
	esac
}

gpu_look() { # FOLDER ARCH
	local name spec wanted peer
	printf '%-18s %9s %9s %6s %6s %10s  %s\n' operator 'model ms' threads \
		regs spills occupancy kernels
	while read -r name spec wanted peer; do
		[[ $name =~ ${ROW:-.} ]] || continue
		$tunec tune "$1/$(gpu_spec "$spec")" --target "cuda -arch=$2" \
			--trials 1 --json --db "$1/db.jsonl" 2>/dev/null |
			head -n 1 | python3 -c '
import json, sys
text = sys.stdin.readline()
if not text:
    sys.exit("%-18s nothing is legal, or it does not compile" % sys.argv[1])
r = json.loads(text)
k = r["launches"]
most = max(k, key=lambda x: x["threads"] * x["blocks"])
print("%-18s %9.4f %9d %6s %6s %10.2f  %d" % (sys.argv[1],
    r["model_s"] * 1e3, most["threads"], most.get("registers", "-"),
    most.get("spill_bytes", "-"), most["occupancy"], len(k)))
' "$name" || failed=1
	done < <(gpu_rows)
}
