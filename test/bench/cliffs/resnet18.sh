#!/bin/sh
# ResNet-18 for one picture of 224x224, batch norms folded into the bias.
#
#     resnet18.sh net      the network as one operator file
#     resnet18.sh parts    its layers: OPERATOR COUNT on each line
#     resnet18.sh live     bytes of what is alive at once, at most: what a layer
#                          reads, writes and adds, but not the network's input
#                          and output
dir=test/bench/cliffs
case ${1:-} in
parts)
	cat <<-END
		workloads/conv2d.yaml:resnet18_c1 1
		$dir/stem_pool.yaml: 1
		workloads/conv2d.yaml:resnet18_c2 2
		$dir/conv_residual.yaml:basic 2
		workloads/conv2d.yaml:resnet18_c4 1
		workloads/conv2d.yaml:resnet18_c5 1
		workloads/conv2d.yaml:resnet18_c6 1
		$dir/conv_residual.yaml:r128 2
		workloads/conv2d.yaml:resnet18_c7 1
		workloads/conv2d.yaml:resnet18_c8 1
		workloads/conv2d.yaml:resnet18_c9 1
		$dir/conv_residual.yaml:r256 2
		workloads/conv2d.yaml:resnet18_c10 1
		workloads/conv2d.yaml:resnet18_c11 1
		workloads/conv2d.yaml:resnet18_c12 1
		$dir/conv_residual.yaml:r512 2
		$dir/head.yaml: 1
	END
	exit
	;;
net | live) ;;
*)
	echo "usage: $0 net|parts|live" >&2
	exit 2
	;;
esac
awk -v what="$1" '
function alive(bytes) {
	if (bytes > most)
		most = bytes
}

# A convolution of the buffer `from` (ci channels of h x h) to `to`; `past` is
# added, unless it is empty.
function conv(to, from, ci, h, co, r, stride, past, relu,    k, sum) {
	oh = int((h + 2 * int(r / 2) - r) / stride) + 1
	k = int(r / 2)
	inputs = inputs sprintf("  w_%s: const f32[%d, %d, %d, %d]\n  b_%s: const f32[%d]\n", to, co, ci, r, r, to, co)
	if (k) {
		text = text sprintf("  p_%s[c < %d, y < %d, z < %d] = if %d <= y < %d and %d <= z < %d then %s[c, y - %d, z - %d] else 0\n", to, ci, h + 2 * k, h + 2 * k, k, h + k, k, h + k, from, k, k)
		from = "p_" to
	}
	text = text sprintf("  c_%s[o < %d, y < %d, z < %d] = sum[c < %d, r < %d, s < %d](%s[c, %s + r, %s + s] * w_%s[o, c, r, s])\n", to, co, oh, oh, ci, r, r, from, stride == 1 ? "y" : "y*" stride, stride == 1 ? "z" : "z*" stride, to)
	sum = "c_" to "[o, y, z] + b_" to "[o]" (past ? " + " past "[o, y, z]" : "")
	text = text sprintf("  %s[o < %d, y < %d, z < %d] = %s\n", to, co, oh, oh, relu ? "max(" sum ", 0)" : sum)
}

# Two convolutions of `from`; where the stride is 2, a third one beside them.
function block(name, from, ci, h, co, stride,    out, past) {
	out = h / stride
	conv(name "a", from, ci, h, co, 3, stride, "", 1)
	past = from
	alive(4 * (ci * h * h + co * out * out))
	if (stride > 1) {
		past = name "d"
		conv(past, from, ci, h, co, 1, stride, "", 0)
		alive(4 * (ci * h * h + 2 * co * out * out))
	}
	conv(name "b", name "a", co, out, co, 3, 1, past, 1)
	alive(4 * 3 * co * out * out)
	return name "b"
}

BEGIN {
	inputs = "  data: f32[3, 224, 224]\n"
	conv("stem", "data", 3, 224, 64, 7, 2, "", 1)
	text = text "  p_pool[c < 64, y < 114, z < 114] = if 1 <= y < 113 and 1 <= z < 113 then stem[c, y - 1, z - 1] else -inf\n"
	text = text "  pool[c < 64, y < 56, z < 56] = max[r < 3, s < 3](p_pool[c, 2*y + r, 2*z + s])\n"
	alive(4 * 64 * (112 * 112 + 56 * 56))
	at = "pool"
	ci = 64
	h = 56
	for (stage = 1; stage <= 4; stage++) {
		co = 32 * 2 ^ stage
		for (k = 1; k <= 2; k++) {
			stride = stage > 1 && k == 1 ? 2 : 1
			at = block("s" stage k, at, ci, h, co, stride)
			h /= stride
			ci = co
		}
	}
	inputs = inputs "  w_dense: const f32[512, 1000]\n  b_dense: const f32[1000]\n"
	text = text "  mean[c < 512] = sum[y < 7, z < 7](" at "[c, y, z]) / 49\n"
	text = text "  out[o < 1000] = sum[c < 512](mean[c] * w_dense[c, o]) + b_dense[o]\n"
	if (what == "live")
		print most
	else
		printf "tunec: 1\nname: resnet18\ninputs:\n%scompute: |\n%soutputs: [out]\n", inputs, text
}'
