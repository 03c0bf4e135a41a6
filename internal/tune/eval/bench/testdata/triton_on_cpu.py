"""Runs the text of the Triton kernels a cell at a time and compares them with
plain Python: prints the largest difference of every case."""

import re
import sys
import types

for name in ("torch", "triton", "rival"):
    sys.modules[name] = types.ModuleType(name)

import plain
import triton_tiles
from cases import CASES


class Pointer:
    def __init__(self, cells, at=0):
        self.cells, self.at = cells, at

    def __add__(self, n):
        return Pointer(self.cells, self.at + n)


class Language:
    """triton.language with vectors of one cell."""

    place = (0, 0, 0)

    def program_id(self, axis):
        return self.place[axis]

    def load(self, p, mask):
        return p.cells[p.at] if mask else 0.0

    def store(self, p, value, mask):
        if mask:
            p.cells[p.at] = value

    def where(self, condition, x, y):
        return x if condition else y

    def sum(self, x, axis):
        return x

    def atomic_add(self, p, value):
        p.cells[p.at] += value


for name, case in CASES.items():
    shape = [9, 11, 13] if len(case.rim) == 3 else [19, 21]
    text = re.sub(r"tl\.arange\(0, B[XY]\)\[[^]]*\]", "0", triton_tiles.text(name).split("@triton.jit")[1]).replace(": tl.constexpr", "")
    tl = Language()
    space = {"tl": tl}
    exec(text, space)
    inputs = [plain.fill(shape, "double", seed) for seed in case.seeds]
    want = case.formula(case, plain.where, *inputs)
    outputs, total = [{} for _ in range(case.outputs)], [0.0]
    inside = [n - 2 * r for n, r in zip(shape, case.rim)]
    for z in range(inside[0] if len(shape) == 3 else 1):
        for y in range(inside[-2]):
            for x in range(inside[-1]):
                tl.place = (x, y, z)
                space["step"](*map(lambda a: Pointer(a.values), inputs), *map(Pointer, outputs), Pointer(total), *shape[-2:], 1, 1)
    worst = 0.0
    for got, right in zip(outputs, want):
        cells = [got[at] for at in sorted(got)]
        assert len(cells) == len(right.values), name
        worst = max([worst] + [abs(a - b) for a, b in zip(cells, right.values)])
    if case.scalar:
        worst = max(worst, abs(total[0] / want[-1] - 1))
    print(name, worst)
