"""The cases' mathematics in plain Python, a cell at a time: no rival, but the
means to check the rivals' formulas and words on a machine without a GPU. It is
called as they are, for small grids."""

import argparse
import itertools
import json
import math
import struct
import sys
import time

from cases import CASES


def scramble(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    z = (z ^ z >> 27) * 0x94D049BB133111EB % (1 << 64)
    return z ^ z >> 31


class Array:
    """As much of an array library as the formulas need."""

    def __init__(self, shape, values):
        self.shape, self.values = shape, values

    def __getitem__(self, slices):
        ranges = [range(*s.indices(n)) for s, n in zip(slices, self.shape)]
        strides = [math.prod(self.shape[d + 1:]) for d in range(len(self.shape))]
        return Array([len(r) for r in ranges],
                     [self.values[sum(a * b for a, b in zip(at, strides))] for at in itertools.product(*ranges)])

    def each(self, other, f):
        if isinstance(other, Array):
            return Array(self.shape, [f(a, b) for a, b in zip(self.values, other.values)])
        return Array(self.shape, [f(a, other) for a in self.values])

    def __add__(self, other): return self.each(other, lambda a, b: a + b)
    def __sub__(self, other): return self.each(other, lambda a, b: a - b)
    def __mul__(self, other): return self.each(other, lambda a, b: a * b)
    def __gt__(self, other): return self.each(other, lambda a, b: a > b)
    def __rsub__(self, other): return self.each(other, lambda a, b: b - a)
    __radd__, __rmul__ = __add__, __mul__

    def sum(self):
        return math.fsum(self.values)


def where(condition, x, y):
    return Array(condition.shape, [a if c else b for c, a, b in zip(condition.values, x.values, y.values)])


def fill(shape, dtype, seed):
    mark = scramble(seed)
    bits = [scramble((n + mark) % (1 << 64)) for n in range(math.prod(shape))]
    return Array(shape, [(b >> 11) / 2**53 if dtype == "double" else (b >> 40) / 2**24 for b in bits])


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("case", choices=sorted(CASES))
    p.add_argument("dtype", choices=["double", "float"])
    p.add_argument("grid")
    p.add_argument("--serve", action="store_true")
    p.add_argument("--batches", type=int, default=7)
    p.add_argument("--cells", default="")
    a = p.parse_args()
    shape = [int(n) for n in a.grid.split("x")]
    case = CASES[a.case]
    inputs = [fill(shape, a.dtype, seed) for seed in case.seeds]
    start = time.monotonic()
    results = case.formula(case, where, *inputs)
    seconds = time.monotonic() - start
    inside = [range(s.start, s.stop) for s in case.interior(shape)]
    values = []
    for cell in (int(n) for n in a.cells.split(",") if n):
        at = 0
        for d, n in enumerate(shape):
            at = at * len(inside[d]) + cell // math.prod(shape[d + 1:]) % n - inside[d].start
        value = results[0].values[at]
        values.append(value if a.dtype == "double" else single(value))
    about = {"rival": "plain Python", "case": a.case, "dtype": a.dtype, "grid": a.grid, "tried": 1, "faults": [], "largest_error": 0,
             "values": values}
    if case.scalar:
        about["sum"] = results[-1]
    if not a.serve:
        rate = math.prod(len(r) for r in inside) / seconds / 1e9
        print(json.dumps(about | {"variant": "plain", "gstencils": rate, "samples": [rate] * a.batches}))
        return
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        answer = {"tune": {"variant": "plain"}, "batch": {"seconds": seconds}}.get(line.strip(), {"failed": "no such word"})
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
