#!/usr/bin/env python3
"""Networks as one operator file each, and the same ones for ONNX Runtime.

    networks.py resnet18|mobilenet_v2|bert_base      prints the operator file

A network is written once, by calls of a builder: `Spec` makes text of them as a
person would write it, `Onnx` nodes as an exporter does (convolution, batch norm
and activation apart; what is folded is the runtime's choice).  Inputs are the
picture or the tokens, then each layer's weights in the order of the layers.
A batch norm has mean 0 and variance 1, so that random inputs stay in range.
"""
import sys


class Spec:
    def __init__(self, name):
        self.name, self.inputs, self.text, self.layers = name, [], [], 0

    def input(self, name, shape, const=True):
        self.inputs.append("  %s: %sf32%s\n" % (
            name, "const " if const else "", list(shape)))
        return name

    def define(self, line):
        self.text.append("  %s\n" % line)

    def layer(self):
        self.layers += 1
        return self.layers

    def start(self, name, *shape):
        return self.input(name, shape, const=False), shape

    def padded(self, n, x, c, h, pad, value):
        if not pad:
            return x
        self.define(
            "p%d[c < %d, y < %d, x < %d] = if %d <= y < %d and %d <= x < %d "
            "then %s[c, y - %d, x - %d] else %s" % (
                n, c, h + 2*pad, h + 2*pad, pad, h + pad, pad, h + pad, x,
                pad, pad, value))
        return "p%d" % n

    def conv(self, source, co, k, stride, act=None, depthwise=False):
        """A convolution and its batch norm."""
        (x, (ci, h, _)), n = source, self.layer()
        oh = (h + 2*(k//2) - k)//stride + 1
        w = self.input("w%d" % n, (co, 1 if depthwise else ci, k, k))
        g, b = self.input("g%d" % n, (co,)), self.input("b%d" % n, (co,))
        x = self.padded(n, x, ci, h, k//2, "0")
        at = "%s + r, %s + s" % (("y", "x") if stride == 1 else
                                 ("y*%d" % stride, "x*%d" % stride))
        out = "o < %d, y < %d, x < %d" % (co, oh, oh)
        if depthwise:
            total = "sum[r < %d, s < %d](%s[o, %s] * %s[o, 0, r, s])" % (
                k, k, x, at, w)
        else:
            total = ("sum[c < %d, r < %d, s < %d]"
                     "(%s[c, %s] * %s[o, c, r, s])" % (ci, k, k, x, at, w))
        self.define("c%d[%s] = %s" % (n, out, total))
        norm = "c%d[o, y, x] * %s[o] + %s[o]" % (n, g, b)
        norm = {None: norm, "relu": "max(%s, 0)" % norm,
                "relu6": "clamp(%s, 0, 6)" % norm}[act]
        self.define("t%d[%s] = %s" % (n, out, norm))
        return "t%d" % n, (co, oh, oh)

    def max_pool(self, source):
        (x, (c, h, _)), n = source, self.layer()
        x = self.padded(n, x, c, h, 1, "-inf")
        self.define(
            "t%d[c < %d, y < %d, x < %d] = max[r < 3, s < 3]"
            "(%s[c, 2*y + r, 2*x + s])" % (n, c, h//2, h//2, x))
        return "t%d" % n, (c, h//2, h//2)

    def add(self, a, b, act=None):
        n, axes = self.layer(), "ijk"[:len(a[1])]
        each = "%s[%s] + %s[%s]" % (a[0], ", ".join(axes), b[0],
                                    ", ".join(axes))
        self.define("t%d[%s] = %s" % (
            n, ", ".join("%s < %d" % p for p in zip(axes, a[1])),
            "max(%s, 0)" % each if act else each))
        return "t%d" % n, a[1]

    def classes(self, source, co):
        """The mean of each channel, and a dense layer of these."""
        (x, (c, h, _)), n = source, self.layer()
        w, b = self.input("w%d" % n, (co, c)), self.input("b%d" % n, (co,))
        self.define("m%d[c < %d] = sum[y < %d, x < %d](%s[c, y, x]) / %d" % (
            n, c, h, h, x, h*h))
        self.define("t%d[o < %d] = sum[c < %d](m%d[c] * %s[o, c]) + %s[o]" % (
            n, co, c, n, w, b))
        return "t%d" % n, (co,)

    def dense(self, source, co, act=None):
        (x, (rows, ci)), n = source, self.layer()
        w, b = self.input("w%d" % n, (ci, co)), self.input("b%d" % n, (co,))
        line = "[i < %d, j < %d] = sum[k < %d](%s[i, k] * %s[k, j]) + %s[j]" % (
            rows, co, ci, x, w, b)
        self.define("%s%d%s" % ("d" if act else "t", n, line))
        if act:
            self.define(
                "t%d[i < %d, j < %d] = 0.5 * d%d[i, j] * "
                "(1 + erf(d%d[i, j] * 0.70710678))" % (n, rows, co, n, n))
        return "t%d" % n, (rows, co)

    def attention(self, q, k, v, heads):
        (rows, co), n = q[1], self.layer()
        d = co//heads
        self.define(
            "s%d[h < %d, i < %d, j < %d] = sum[d < %d](%s[i, h*%d + d] * "
            "%s[j, h*%d + d]) * %.9g" % (n, heads, rows, rows, d, q[0], d, k[0],
                                         d, d**-0.5))
        self.define("top%d[h < %d, i < %d] = max[j < %d](s%d[h, i, j])" % (
            n, heads, rows, rows, n))
        self.define("e%d[h < %d, i < %d, j < %d] = exp(s%d[h, i, j] - "
                    "top%d[h, i])" % (n, heads, rows, rows, n, n))
        self.define("z%d[h < %d, i < %d] = sum[j < %d](e%d[h, i, j])" % (
            n, heads, rows, rows, n))
        self.define(
            "c%d[h < %d, i < %d, d < %d] = sum[j < %d](e%d[h, i, j] * "
            "%s[j, h*%d + d]) / z%d[h, i]" % (
                n, heads, rows, d, rows, n, v[0], d, n))
        self.define("t%d[i < %d, j < %d] = c%d[j//%d, i, j %% %d]" % (
            n, rows, co, n, d, d))
        return "t%d" % n, (rows, co)

    def layer_norm(self, source):
        (x, (rows, c)), n = source, self.layer()
        g, b = self.input("g%d" % n, (c,)), self.input("b%d" % n, (c,))
        self.define("m%d[i < %d] = sum[j < %d](%s[i, j]) / %d" % (
            n, rows, c, x, c))
        self.define("v%d[i < %d] = sum[j < %d]((%s[i, j] - m%d[i]) * "
                    "(%s[i, j] - m%d[i])) / %d" % (n, rows, c, x, n, x, n, c))
        self.define(
            "t%d[i < %d, j < %d] = (%s[i, j] - m%d[i]) / "
            "sqrt(v%d[i] + 1e-12) * %s[j] + %s[j]" % (
                n, rows, c, x, n, n, g, b))
        return "t%d" % n, (rows, c)

    def end(self, source):
        return "tunec: 1\nname: %s\ninputs:\n%scompute: |\n%soutputs: [%s]\n" % (
            self.name, "".join(self.inputs), "".join(self.text), source[0])


class Onnx:
    """Values are (name, shape); `given(i, *shape)` is input i."""

    def __init__(self, given):
        from onnx import helper
        self.helper, self.given = helper, given
        self.nodes, self.inputs, self.constants = [], {}, {}

    def constant(self, value):
        name = "k%d" % len(self.constants)
        self.constants[name] = value
        return name

    def weights(self, *shape):
        """The next of the network's inputs."""
        value = self.given(self.taken, *shape)
        self.taken += 1
        return self.constant(value)

    def node(self, op, ins, **attributes):
        out = "n%d" % len(self.nodes)
        self.nodes.append(self.helper.make_node(op, ins, [out], **attributes))
        return out

    def start(self, name, *shape):
        self.taken = 1
        picture = len(shape) == 3
        value = self.given(0, *([1] if picture else []), *shape)
        self.inputs["X"] = value
        return "X", shape

    def conv(self, source, co, k, stride, act=None, depthwise=False):
        import numpy as np
        x, (ci, h, _) = source
        oh = (h + 2*(k//2) - k)//stride + 1
        w = self.weights(co, 1 if depthwise else ci, k, k)
        g, b = self.weights(co), self.weights(co)
        mean = self.constant(np.zeros(co, np.float32))
        variance = self.constant(np.ones(co, np.float32))
        y = self.node("Conv", [x, w], kernel_shape=[k, k],
                      strides=[stride] * 2, pads=[k//2] * 4,
                      group=ci if depthwise else 1)
        y = self.node("BatchNormalization", [y, g, b, mean, variance],
                      epsilon=0.0)
        if act == "relu":
            y = self.node("Relu", [y])
        if act == "relu6":
            y = self.node("Clip", [y, self.constant(np.float32(0)),
                                   self.constant(np.float32(6))])
        return y, (co, oh, oh)

    def max_pool(self, source):
        x, (c, h, _) = source
        return self.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2],
                         pads=[1] * 4), (c, h//2, h//2)

    def add(self, a, b, act=None):
        y = self.node("Add", [a[0], b[0]])
        return (self.node("Relu", [y]) if act else y), a[1]

    def classes(self, source, co):
        x, (c, _, _) = source
        w, b = self.weights(co, c), self.weights(co)
        y = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        return self.node("Gemm", [y, w, b], transB=1), (co,)

    def dense(self, source, co, act=None):
        import numpy as np
        x, (rows, ci) = source
        w, b = self.weights(ci, co), self.weights(co)
        y = self.node("Add", [self.node("MatMul", [x, w]), b])
        if act:  # as torch's exporter writes it
            e = self.node("Erf", [self.node("Div", [
                y, self.constant(np.float32(2**0.5))])])
            e = self.node("Mul", [y, self.node("Add", [
                e, self.constant(np.float32(1))])])
            y = self.node("Mul", [e, self.constant(np.float32(0.5))])
        return y, (rows, co)

    def attention(self, q, k, v, heads):
        import numpy as np
        rows, co = q[1]
        parts = self.constant(np.array([rows, heads, co//heads], np.int64))
        whole = self.constant(np.array([rows, co], np.int64))

        def split(x, perm):
            return self.node("Transpose", [
                self.node("Reshape", [x[0], parts])], perm=perm)

        s = self.node("MatMul", [split(q, [1, 0, 2]), split(k, [1, 2, 0])])
        s = self.node("Mul", [s, self.constant(
            np.float32((co//heads)**-0.5))])
        y = self.node("MatMul", [self.node("Softmax", [s], axis=2),
                                 split(v, [1, 0, 2])])
        y = self.node("Transpose", [y], perm=[1, 0, 2])
        return self.node("Reshape", [y, whole]), (rows, co)

    def layer_norm(self, source):
        x, (rows, c) = source
        g, b = self.weights(c), self.weights(c)
        return self.node("LayerNormalization", [x, g, b], axis=1,
                         epsilon=1e-12), (rows, c)

    def end(self, source):
        self.nodes.append(self.helper.make_node(
            "Identity", [source[0]], ["Y"]))
        return {"": (self.nodes, self.inputs, self.constants)}


def resnet18(net):
    x = net.conv(net.start("picture", 3, 224, 224), 64, 7, 2, "relu")
    x, ci = net.max_pool(x), 64
    for co, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2),
                       (256, 1), (512, 2), (512, 1)):
        past = x
        if stride > 1:
            past = net.conv(x, co, 1, stride)
        x = net.conv(net.conv(x, co, 3, stride, "relu"), co, 3, 1)
        x, ci = net.add(x, past, "relu"), co
    return net.end(net.classes(x, 1000))


def mobilenet_v2(net):
    x, ci = net.conv(net.start("picture", 3, 224, 224), 32, 3, 2, "relu6"), 32
    for times, co, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            past, step = x, stride if i == 0 else 1
            if times > 1:
                x = net.conv(x, ci*times, 1, 1, "relu6")
            x = net.conv(x, ci*times, 3, step, "relu6", depthwise=True)
            x = net.conv(x, co, 1, 1)
            if step == 1 and ci == co:
                x = net.add(x, past)
            ci = co
    return net.end(net.classes(net.conv(x, 1280, 1, 1, "relu6"), 1000))


def bert_base(net):
    x = net.start("tokens", 128, 768)
    for _ in range(12):
        q, k, v = (net.dense(x, 768) for _ in range(3))
        y = net.dense(net.attention(q, k, v, 12), 768)
        x = net.layer_norm(net.add(y, x))
        y = net.dense(net.dense(x, 3072, "gelu"), 768)
        x = net.layer_norm(net.add(y, x))
    return net.end(x)


NETWORKS = {f.__name__: f for f in (resnet18, mobilenet_v2, bert_base)}


def onnx_nodes(name, given):
    return NETWORKS[name](Onnx(given))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in NETWORKS:
        sys.exit("usage: networks.py %s" % "|".join(NETWORKS))
    sys.stdout.write(NETWORKS[sys.argv[1]](Spec(sys.argv[1])))
