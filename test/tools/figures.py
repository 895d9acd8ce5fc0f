#!/usr/bin/env python3
"""What the house is like, in figures: sizes of files and functions, comments,
asserts, and which files use each other in a circle (by the symbols of build/obj).

    test/tools/figures.py [ROOT]        (make figures)

A function is what stands between `{` and `}` at the first column; its length is
that of its lines with these.  An arrow goes from a file to one whose function or
table it uses; it is a back arrow where that one uses it again, itself or through
others, and would have to go for there to be no circle: as many as are left when
each circle's files are put in the best order that moving one at a time finds.
"""
import os
import re
import subprocess
import sys

FOLDERS = ["lib", "ir", "schedule", "codegen", "tuner", "cmd"]
ROOMS = ["schedule/rules", "schedule/plan", "schedule/primitives", "ir/nest",
         "codegen/lower", "codegen/c", "codegen/device", "codegen/llvm",
         "tuner/measure"]


def sources(root, folder, ends=(".c", ".h")):
    for path, _, files in os.walk(os.path.join(root, folder)):
        for name in sorted(files):
            if name.endswith(ends):
                yield os.path.join(path, name)


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0


def functions(lines):
    begin = None
    for i, line in enumerate(lines):
        if line == "{":
            begin = i
        elif line == "}" and begin is not None:
            yield i - begin + 2
            begin = None


def comments(text):
    return sum(c.count("\n") + 1 for c in re.findall(r"/\*.*?\*/", text, re.S))


def folder_row(root, name, folders):
    texts = {f: open(f, encoding="utf-8").read()
             for folder in folders for f in sources(root, folder)}
    files = [t.count("\n") for f, t in texts.items() if f.endswith(".c")]
    lengths = [n for t in texts.values() for n in functions(t.split("\n"))]
    lines = sum(t.count("\n") for t in texts.values())
    asserts = sum(len(re.findall(r"\bassert\(", t)) for t in texts.values())
    share = sum(map(comments, texts.values())) / max(lines, 1)
    print("| %s | %d | %d / %d / %d | %d / %d / %d | %.0f %% | %.1f |" % (
        name, lines, at(files, .5), at(files, .9), max(files),
        at(lengths, .5), at(lengths, .95), max(lengths), 100 * share,
        1000 * asserts / lines))


def arrows(root, folder):
    objects = list(sources(os.path.join(root, "build/obj"), folder, (".o",)))
    made, used = {}, {o: set() for o in objects}
    symbols = subprocess.run(["nm", "-A"] + objects, capture_output=True,
                             text=True, check=True).stdout
    for line in symbols.split("\n"):
        o, _, rest = line.partition(":")
        word = rest.split()
        if word and word[-2] in "TDBRC":
            made[word[-1]] = o
        elif word and word[-2] == "U":
            used[o].add(word[-1])
    return {o: {made[s] for s in used[o] if made.get(s, o) != o} for o in used}


def circles(graph):
    """Strongly connected components (Tarjan) of more than one file."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in graph:
        if v not in index:
            visit(v)
    return sorted(found, key=len, reverse=True)


def back_arrows(graph, circle):
    """Of the best order that moves of one file at a time find."""
    order = list(circle)

    def count(order):
        place = {v: i for i, v in enumerate(order)}
        return sum(place[w] < place[v] for v in order for w in graph[v]
                   if w in place)

    best, better = count(order), True
    while better:
        better = False
        for v in circle:
            rest = [w for w in order if w != v]
            for i in range(len(order)):
                tried = rest[:i] + [v] + rest[i:]
                n = count(tried)
                if n < best:
                    best, order, better = n, tried, True
    return best


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    sys.setrecursionlimit(10000)
    print("| | lines | .c files: median / p90 / most |"
          " functions: median / p95 / longest | comments |"
          " asserts in 1,000 lines |")
    print("| --- | --- | --- | --- | --- | --- |")
    folder_row(root, "all but tests", FOLDERS)
    folder_row(root, "test", ["test"])
    for folder in FOLDERS + ROOMS:
        folder_row(root, folder, [folder])
    print("\n| circles in | files | back arrows |\n| --- | --- | --- |")
    for folder in FOLDERS:
        graph = arrows(root, folder)
        for c in circles(graph):
            if len(c) > 4:
                names = " ".join(os.path.basename(o)[:-2] for o in c)
                print("| %s | %d: %s | %d |" % (
                    folder, len(c), names, back_arrows(graph, c)))


main()
