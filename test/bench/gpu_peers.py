"""The fastest that torch has for an operator on this GPU, in milliseconds.

    gpu_peers.py --about
    gpu_peers.py <LINES                   NAME and one of these; prints NAME TIME
        matmul N DTYPE
        conv C H K R STRIDE PAD
        attention HEADS LENGTH WIDTH
        copy BYTES                        a copy that moves so many

By events around graphs of calls, after warming up, on random data: the median
of the fastest variant (libraries' own choice, channels last, torch.compile,
which TRITON=0 leaves out).
"""
import os
import statistics
import sys

import torch
import torch.nn.functional as F

if not torch.cuda.is_available():
    sys.exit("torch has no CUDA here")
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def random(*shape, dtype=torch.float32):
    return torch.rand(*shape, device="cuda").sub(0.5).to(dtype)


def captured(call, runs):
    """The calls as one graph, so that launches from Python cost nothing."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(5):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for _ in range(runs):
            call()
    return graph.replay


def milliseconds(call, runs=20, batches=15):
    replay = captured(call, runs)
    replay()
    times = []
    for _ in range(batches):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / runs)
    return statistics.median(times)


def matmul(n, dtype):
    n, dtype = int(n), getattr(torch, dtype)
    a, b = random(n, n, dtype=dtype), random(n, n, dtype=dtype)
    return {"cublas": lambda: a @ b, "triton": compiled(torch.matmul, a, b)}


def conv(c, h, k, r, stride, pad):
    c, h, k, r, stride, pad = map(int, (c, h, k, r, stride, pad))
    x, w, b = random(1, c, h, h), random(k, c, r, r), random(k)

    def call(x, w, b):
        return F.relu(F.conv2d(x, w, b, stride, pad))

    last = [t.to(memory_format=torch.channels_last) for t in (x, w)]
    return {"cudnn": lambda: call(x, w, b),
            "cudnn, channels last": lambda: call(*last, b),
            "triton": compiled(call, x, w, b)}


def attention(heads, length, width):
    shape = 1, int(heads), int(length), int(width)
    q, k, v = (random(*shape) for _ in range(3))
    return {"sdpa": lambda: F.scaled_dot_product_attention(q, k, v)}


def copy(size):
    """So many bytes at the bandwidth of a copy that no cache holds."""
    n = 1 << 28
    a, b = random(n), random(n)
    ms = milliseconds(lambda: b.copy_(a), runs=3)
    return int(size) / (2 * 4 * n / ms)


def compiled(function, *args):
    """torch.compile's, which writes Triton; None where it does not work."""
    if os.environ.get("TRITON") == "0":
        return None
    try:
        call = torch.compile(function, mode="max-autotune-no-cudagraphs")
        call(*args)
        return lambda: call(*args)
    except Exception:
        return None


def main():
    if sys.argv[1:] == ["--about"]:
        print("peers: %s, torch %s" % (
            torch.cuda.get_device_name(), torch.__version__))
        return
    for line in sys.stdin:
        name, peer, *args = line.split()
        found = globals()[peer](*args)
        if isinstance(found, dict):
            found = min(milliseconds(f) for f in found.values() if f)
        print("%s %.5f" % (name, found), flush=True)


main()
