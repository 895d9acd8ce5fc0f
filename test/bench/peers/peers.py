"""ONNX Runtime or torch as a side of bench_sides.

    peers.py ort|torch KIND,NAME=NUMBER,...,WORD,...

The text is that of side.h, the protocol that of bench_sides.c: inputs are files
of $SIDE_FOLDER.  Of several ways that a library has for an operator the fastest
is taken, after each has run for a tenth of a second.
"""
import os
import sys
import time

import networks
import numpy as np

FOLDER = os.environ["SIDE_FOLDER"]
THREADS = int(os.environ["SIDE_THREADS"])
CLOCK = time.thread_time if THREADS == 1 else time.perf_counter


class Text:
    """KIND and its numbers; a word alone is 1, what is not there 0."""

    def __init__(self, text):
        self.kind, *rest = text.split(",")
        self.values = {}
        for word in rest:
            name, _, value = word.partition("=")
            self.values[name] = float(value) if value else 1

    def __getattr__(self, name):
        value = self.values.get(name, 1 if name in ("g", "d", "b") else 0)
        return int(value) if value == int(value) else value


def given(i, *shape):
    return np.fromfile("%s/input%d" % (FOLDER, i), np.float32).reshape(shape)


def convolution_inputs(t):
    """Source, weights and bias; a factor of each channel is folded."""
    nd = t.nd or 2
    size = ([t.depth] if t.depth else [t.h]) + [t.h] * (nd - 1)
    kernel = [t.r] * nd
    x = given(0, 1, t.ci, *size)
    if t.kind == "deconv":
        return nd, x, given(1, t.ci, t.co, *kernel), None
    w = given(1, t.co, t.ci // t.g, *kernel)
    if t.scale:
        w = w * given(2, t.co, *[1] * (nd + 1))
    bias = given(3 if t.scale else 2, t.co) if t.bias else None
    return nd, x, w, bias


def refuse(t):
    if t.blocked or t.to16c or t.u8 or t.bf16:
        raise ValueError("plain layouts and f32 alone")


# --- ONNX Runtime ---------------------------------------------------------------


def onnx_nodes(t):
    """{name of the way: (nodes, inputs, constants)}, the result is Y."""
    from onnx import helper

    def node(op, ins, out="Y", **attributes):
        return helper.make_node(op, ins, [out], **attributes)

    if t.kind in networks.NETWORKS:
        return networks.onnx_nodes(t.kind, given)
    if t.kind in ("conv", "deconv"):
        nd, x, w, bias = convolution_inputs(t)
        ins = ["X", "W"] + (["B"] if bias is not None else [])
        attributes = dict(kernel_shape=[t.r] * nd, strides=[t.s] * nd,
                          pads=[t.p] * 2 * nd)
        if t.kind == "conv":
            attributes.update(dilations=[t.d] * nd, group=t.g)
        op = "Conv" if t.kind == "conv" else "ConvTranspose"
        nodes = [node(op, ins, "C" if t.relu else "Y", **attributes)]
        if t.relu:
            nodes.append(node("Relu", ["C"]))
        constants = {"W": w}
        if bias is not None:
            constants["B"] = bias
        return {"": (nodes, {"X": x}, constants)}
    if t.kind == "product":
        batch = [t.b] if t.b > 1 else []
        return {"": ([node("MatMul", ["A", "B"])], {
            "A": given(0, *batch, t.m, t.k),
            "B": given(1, *batch, t.k, t.n)}, {})}
    if t.kind == "scores":
        return {"": ([node("Transpose", ["A"], "At", perm=[1, 0, 2]),
                      node("Transpose", ["B"], "Bt", perm=[1, 2, 0]),
                      node("MatMul", ["At", "Bt"])],
                     {"A": given(0, t.l, t.h, t.d),
                      "B": given(1, t.l, t.h, t.d)}, {})}
    if t.kind == "softmax":
        return {"": ([node("Softmax", ["X"], axis=1)],
                     {"X": given(0, t.m, t.n)}, {})}
    if t.kind == "norm":
        return {"": ([node("LayerNormalization", ["X", "S", "B"], axis=1,
                           epsilon=t.eps)],
                     {"X": given(0, t.m, t.n)},
                     {"S": given(1, t.n), "B": given(2, t.n)})}
    if t.kind == "l2":
        return {"": ([node("ReduceL2", ["X"], keepdims=1)],
                     {"X": given(0, t.n)}, {})}
    if t.kind in ("maxpool", "avgpool"):
        op = "MaxPool" if t.kind == "maxpool" else "AveragePool"
        return {"": ([node(op, ["X"], kernel_shape=[t.r] * 2,
                           strides=[t.s] * 2, pads=[t.p] * 4)],
                     {"X": given(0, 1, t.c, t.h, t.h)}, {})}
    if t.kind == "attention":
        return onnx_attention(t, node)
    raise ValueError("no " + t.kind)


def onnx_attention(t, node):
    heads = {n: given(i, 1, t.h, t.l, t.d) for i, n in enumerate("QKV")}
    plain = [node("Transpose", ["K"], "Kt", perm=[0, 1, 3, 2]),
             node("MatMul", ["Q", "Kt"], "S"),
             node("Mul", ["S", "F"], "T"),
             node("Softmax", ["T"], "P", axis=3),
             node("MatMul", ["P", "V"])]
    side = {n: np.ascontiguousarray(
        v.transpose(0, 2, 1, 3).reshape(1, t.l, t.h * t.d))
        for n, v in heads.items()}
    fused = [node("MultiHeadAttention", ["Q", "K", "V"], num_heads=t.h,
                  domain="com.microsoft")]
    factor = np.array(t.d ** -0.5, np.float32)
    return {"plain": (plain, heads, {"F": factor}),
            "fused, heads side by side": (fused, side, {})}


def ort_ways(t):
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    if THREADS > 1:  # this one on the first CPU, its threads on the next
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cpus[:1])
        options.add_session_config_entry(
            "session.intra_op_thread_affinities",
            ";".join(str(cpu + 1) for cpu in cpus[1:THREADS]))
    about = "ONNX Runtime " + ort.__version__
    for way, (nodes, inputs, constants) in onnx_nodes(t).items():
        graph = helper.make_graph(
            nodes, "g",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape)
             for n, v in inputs.items()],
            [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(v, n) for n, v in constants.items()])
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 18),
            helper.make_opsetid("com.microsoft", 1)])
        session = ort.InferenceSession(
            model.SerializeToString(), options,
            providers=["CPUExecutionProvider"])
        result = session.run(None, inputs)[0]
        binding = session.io_binding()
        kept = [ort.OrtValue.ortvalue_from_numpy(v) for v in inputs.values()]
        for name, value in zip(inputs, kept):
            binding.bind_ortvalue_input(name, value)
        out = ort.OrtValue.ortvalue_from_numpy(result)
        binding.bind_ortvalue_output("Y", out)
        yield (" ".join([about, way]).strip(),
               lambda s=session, b=binding, k=kept: s.run_with_iobinding(b),
               lambda o=out, w=way: turned(t, w, o.numpy()))


def turned(t, way, y):
    """A result whose heads lie side by side, as the operator has it."""
    if not way.startswith("fused"):
        return y
    return y.reshape(t.l, t.h, t.d).transpose(1, 0, 2)


# --- torch ----------------------------------------------------------------------


def torch_calls(t, torch):
    """{name of the way: call}"""
    F = torch.nn.functional
    tensor = torch.from_numpy
    if t.kind in ("conv", "deconv"):
        return torch_convolutions(t, torch)
    if t.kind == "product":
        batch = [t.b] if t.b > 1 else []
        a = tensor(given(0, *batch, t.m, t.k))
        b = tensor(given(1, *batch, t.k, t.n))
        c = torch.empty(*batch, t.m, t.n)
        return {"": lambda: torch.matmul(a, b, out=c)}
    if t.kind == "scores":
        q, v = (tensor(given(i, t.l, t.h, t.d)) for i in (0, 1))
        return {"": lambda: torch.matmul(
            q.permute(1, 0, 2), v.permute(1, 2, 0))}
    if t.kind == "softmax":
        x = tensor(given(0, t.m, t.n))
        return {"": lambda: torch.softmax(x, 1)}
    if t.kind == "norm":
        x = tensor(given(0, t.m, t.n))
        s, b = tensor(given(1, t.n)), tensor(given(2, t.n))
        return {"": lambda: F.layer_norm(x, (t.n,), s, b, t.eps)}
    if t.kind == "l2":
        x = tensor(given(0, t.n))
        return {"": lambda: torch.linalg.vector_norm(x)}
    if t.kind in ("maxpool", "avgpool"):
        x = tensor(given(0, 1, t.c, t.h, t.h))
        last = x.contiguous(memory_format=torch.channels_last)
        call = F.max_pool2d if t.kind == "maxpool" else F.avg_pool2d
        return {"": lambda: call(x, t.r, t.s, t.p),
                "channels last": lambda: call(last, t.r, t.s, t.p)}
    if t.kind == "attention":
        q, k, v = (tensor(given(i, 1, t.h, t.l, t.d)) for i in range(3))
        return {"": lambda: F.scaled_dot_product_attention(q, k, v)}
    raise ValueError("no " + t.kind)


def torch_convolutions(t, torch):
    F = torch.nn.functional
    nd, *arrays = convolution_inputs(t)
    x, w, bias = (None if a is None else torch.from_numpy(a) for a in arrays)

    def call(x, w):
        if t.kind == "deconv":
            return F.conv_transpose2d(x, w, stride=t.s, padding=t.p)
        conv = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[nd]
        y = conv(x, w, bias, t.s, t.p, t.d, t.g)
        return torch.relu_(y) if t.relu else y

    ways = {"": lambda: call(x, w)}
    if nd > 1:
        form = torch.channels_last if nd == 2 else torch.channels_last_3d
        xl, wl = (a.contiguous(memory_format=form) for a in (x, w))
        ways["channels last"] = lambda: call(xl, wl)
    if nd == 2 and t.kind == "conv":
        try:
            ways["blocked"] = torch_blocked(t, torch, x, w, bias)
        except Exception as e:
            print(e, file=sys.stderr)
    return ways


def torch_blocked(t, torch, x, w, bias):
    """torch's own oneDNN, in its layouts."""
    from torch.utils import mkldnn
    conv = torch.nn.Conv2d(t.ci, t.co, t.r, t.s, t.p, t.d, t.g,
                           bias=bias is not None).eval()
    conv.weight.copy_(w)
    if bias is not None:
        conv.bias.copy_(bias)
    blocked, source = mkldnn.to_mkldnn(conv), x.to_mkldnn()

    def call():
        y = blocked(source)
        return torch.relu_(y) if t.relu else y

    call()
    return call


def torch_ways(t):
    import torch
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)

    def result(call):
        y = call()
        return (y.to_dense() if y.is_mkldnn else y).contiguous().numpy()

    for way, call in torch_calls(t, torch).items():
        about = "torch %s %s" % (torch.__version__, way)
        yield about.strip(), call, lambda c=call: result(c)


# --- the side -------------------------------------------------------------------


def seconds(call, least=0.005, warm=0.001):
    begin = CLOCK()
    call()
    while CLOCK() - begin < warm:
        call()
    begin, calls = CLOCK(), 0
    while True:
        call()
        calls += 1
        spent = CLOCK() - begin
        if spent >= least:
            return spent / calls


def main():
    library, text = sys.argv[1], Text(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print

    def answer(line):
        answers.write(line + "\n")
        answers.flush()

    try:
        refuse(text)
        ways = list(ort_ways(text) if library == "ort" else torch_ways(text))
        for _, call, _ in ways:
            call()
        about, call, result = min(
            ways, key=lambda w: seconds(w[1], 0.1, 0.02))
    except Exception as e:
        answer("none %s: %s" % (type(e).__name__, " ".join(str(e).split())))
        return
    answer("ready " + about)
    for line in sys.stdin:
        if line.startswith("result "):
            call()
            result().astype(np.float32).tofile(line.split()[1])
            answer("done")
        elif line.startswith("time"):
            answer("%.9e" % seconds(call))
        else:
            break


main()
