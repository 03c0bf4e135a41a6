"""How a rival talks, checks itself and takes its time.

    python3 RIVAL.py CASE double|float 512x512x512 [--batches 7] [--cells 5,17]

prints one line of JSON: what the fastest of its variants reaches. With --serve
it first says that it is ready, and then answers each line that it reads with a
line of JSON: "tune" chooses the fastest variant, "batch" times it once more.
Every variant has to agree with plain arithmetic in double precision.
"""

import argparse
import json
import math
import statistics
import sys

import torch

from cases import CASES

LEAST = 0.02  # seconds that a batch takes


def signed(x):
    return x - (1 << 64) if x >= 1 << 63 else x


def scramble(z):
    """The bits of random numbers, of Python's whole numbers modulo 2^64."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    z = (z ^ z >> 27) * 0x94D049BB133111EB % (1 << 64)
    return z ^ z >> 31


def fill(shape, dtype, seed, device):
    """Random values in [0, 1) by the number of the cell and the seed."""
    out = torch.empty(shape, dtype=dtype, device=device)
    flat = out.view(-1)

    def shift(z, n):
        return (z >> n) & ((1 << (64 - n)) - 1)

    run = 1 << 26
    for lo in range(0, flat.numel(), run):
        hi = min(lo + run, flat.numel())
        z = torch.arange(lo, hi, dtype=torch.int64, device=device) + signed(scramble(seed))
        z = (z ^ shift(z, 30)) * signed(0xBF58476D1CE4E5B9)
        z = (z ^ shift(z, 27)) * signed(0x94D049BB133111EB)
        z = z ^ shift(z, 31)
        if dtype == torch.float64:
            flat[lo:hi] = shift(z, 11).to(dtype) / 9007199254740992.0
        else:
            flat[lo:hi] = shift(z, 40).to(dtype) / 16777216.0
    return out


class Problem:
    """A case with its arrays on the GPU."""

    def __init__(self, name, dtype, shape):
        self.name, self.shape = name, shape
        self.case = CASES[name]
        self.dtype = {"double": torch.float64, "float": torch.float32}[dtype]
        self.inputs = [fill(shape, self.dtype, seed, "cuda") for seed in self.case.seeds]
        self.outputs = [torch.empty_like(self.inputs[0]) for _ in range(self.case.outputs)]
        self.sum = torch.zeros((), dtype=self.dtype, device="cuda")
        self.interior = self.case.interior(shape)

    def points(self):
        return math.prod(s.stop - s.start for s in self.interior)

    def error(self, results):
        """The largest difference of a step's results from plain arithmetic in
        double precision, over slabs at both ends and in the middle of the
        outermost axis; NaN where something was not written."""
        rim, n = self.case.rim[0], self.shape[0]
        thick = min(n - 2 * rim, 16 if len(self.shape) == 3 else 256)
        worst = 0.0
        for lo in sorted({rim, (n - thick) // 2, n - rim - thick}):
            slab = [g[lo - rim:lo + thick + rim].double() for g in self.inputs]
            want = self.case.formula(self.case, torch.where, *slab)
            for got, right in zip(results[:self.case.outputs], want):
                part = got[lo - rim:lo - rim + thick].double()
                worst = max_or_nan(worst, (part - right).abs().max().item())
        if self.case.scalar:
            slab = [g.double() for g in self.inputs]
            right = self.case.formula(self.case, torch.where, *slab)[-1].item()
            # As a part of the sum: it is of another size than the cells.
            worst = max_or_nan(worst, 1e-2 * abs(results[-1].item() / right - 1))
        return worst


def max_or_nan(a, b):
    return b if math.isnan(b) or b > a else a


class Contest:
    """The variants of a rival for one problem: functions without arguments that
    carry out a step and return the interior of what it has written."""

    def __init__(self, problem, variants):
        self.problem, self.faults, self.worst = problem, [], 0.0
        allowed = 1e-12 if problem.dtype == torch.float64 else 1e-4
        self.variants = {}
        for label, step in variants.items():
            for out in problem.outputs:
                out.fill_(float("nan"))
            try:
                results = step()
                torch.cuda.synchronize()
                error = problem.error(results)
                del results
            except Exception as fault:  # a variant that cannot be built is no rival
                self.faults.append(f"{label}: {fault!r:.300}")
                continue
            if not error <= allowed:
                self.faults.append(f"{label}: wrong by {error}")
                continue
            self.worst = max(self.worst, error)
            self.variants[label] = step
        self.steps, self.best = 1, next(iter(self.variants), None)
        self.values = None

    def look(self, cells):
        """What the first output holds at cells given by their numbers."""
        if self.best is None:
            return []
        whole = torch.full(self.problem.shape, float("nan"), dtype=self.problem.dtype, device="cuda")
        whole[self.problem.interior] = self.variants[self.best]()[0]
        return [whole.view(-1)[c].item() for c in cells]

    def time(self, step, n):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(n):
            step()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1000

    def batch(self, least=LEAST):
        """Seconds of one step, from a batch that takes so long at least."""
        step = self.variants[self.best]
        while True:
            took = self.time(step, self.steps)
            if took >= least:
                return took / self.steps
            self.steps = max(self.steps + 1, int(1.2 * self.steps * least / max(took, 1e-6)))

    def tune(self):
        """Chooses the fastest variant, each timed three times."""
        fastest = {}
        for label in self.variants:
            self.best, self.steps = label, 1
            self.batch(LEAST / 4)
            fastest[label] = min(self.batch(LEAST / 4) for _ in range(3))
        self.best, self.steps = min(fastest, key=fastest.get), 1
        self.batch()
        return self.best


def say(**line):
    print(json.dumps(line), flush=True)


def main(name, variants):
    """Serves, or measures once. variants makes a problem's functions by label."""
    p = argparse.ArgumentParser(prog=name)
    p.add_argument("case", choices=sorted(CASES))
    p.add_argument("dtype", choices=["double", "float"])
    p.add_argument("grid", help="cells on each axis, as 512x512x512")
    p.add_argument("--serve", action="store_true")
    p.add_argument("--batches", type=int, default=7)
    p.add_argument("--cells", default="", help="numbers of cells to print of the first output")
    a = p.parse_args()
    shape = tuple(int(n) for n in a.grid.split("x"))
    about = {"rival": name, "case": a.case, "dtype": a.dtype, "grid": a.grid}
    problem = Problem(a.case, a.dtype, shape)
    c = Contest(problem, variants(problem))
    cells = [int(n) for n in a.cells.split(",") if n]
    about |= {"tried": len(c.variants), "faults": c.faults, "largest_error": c.worst, "values": c.look(cells)}
    if c.best is None:
        say(**about, failed="no variant works: " + "; ".join(c.faults))
        sys.exit(1)
    if not a.serve:
        c.tune()
        c.batch()
        rates = [problem.points() / c.batch() / 1e9 for _ in range(a.batches)]
        say(**about, variant=c.best, gstencils=statistics.median(rates), samples=rates)
        return
    say(**about)
    for line in sys.stdin:
        if line.strip() == "tune":
            say(variant=c.tune())
        elif line.strip() == "batch":
            say(seconds=c.batch())
        else:
            say(failed=f"no such word: {line.strip()}")
