"""Triton: a program for each tile of a plane, or for a part of one row, whose
cells lie along the vectors; several shapes and numbers of warps, of which the
fastest counts. The kernels are printed here with every tap written out."""

import importlib.util
import os
import tempfile

import torch
import triton

import rival
from cases import CASES, TAPS, WAVE

# Rows and columns of a tile, and warps.
SHAPES = [(1, 512, 4), (1, 1024, 4), (1, 1024, 8), (2, 256, 4), (4, 128, 4), (8, 128, 8)]


def place(*offset):
    """The address of a neighbour, relative to the cell's."""
    strides = ["M * N", "N", "1"][3 - len(offset):]
    return "".join(f" + ({o}) * {s}" for o, s in zip(offset, strides) if o)


def load(grid, *offset):
    return f"tl.load({grid} + p{place(*offset)}, mask=m)"


def linear(taps):
    lines = [f"s = {taps[0][0]!r} * {load('u', *taps[0][1])}"]
    lines += [f"s += {w!r} * {load('u', *at)}" for w, at in taps[1:]]
    return ["u"], lines + ["tl.store(out0 + p, s, mask=m)"]


def wave():
    lines = [f"c = {load('u', 0, 0, 0)}", f"lap = {3 * WAVE[0]!r} * c"]
    for r in range(1, 5):
        taps = [load("u", *at) for at in ((0, 0, -r), (0, 0, r), (0, -r, 0), (0, r, 0), (-r, 0, 0), (r, 0, 0))]
        lines.append(f"lap += {WAVE[r]!r} * ({' + '.join(taps)})")
    lines.append(f"tl.store(out0 + p, 2.0 * c - {load('prev', 0, 0, 0)} + {load('v2', 0, 0, 0)} * lap, mask=m)")
    return ["u", "prev", "v2"], lines


def himeno():
    def cross(g, a, b):
        """The differences of the four corners of a plane, times a coefficient."""
        corners = [tuple(s * x + t * y for x, y in zip(a, b)) for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
        one, two, three, four = (load("p0", *at) for at in corners)
        return f"s += {load(g, 0, 0, 0)} * ({one} - {two} - {three} + {four})"

    k, j, i = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    lines = [f"s = {load('wrk1', 0, 0, 0)}"]
    for g, at in (("a0", k), ("a1", j), ("a2", i), ("c0", (-1, 0, 0)), ("c1", (0, -1, 0)), ("c2", (0, 0, -1))):
        lines.append(f"s += {load(g, 0, 0, 0)} * {load('p0', *at)}")
    lines += [cross("b0", k, j), cross("b1", j, i), cross("b2", k, i)]
    lines += [
        f"c = {load('p0', 0, 0, 0)}",
        f"ss = (s * {load('a3', 0, 0, 0)} - c) * {load('bnd', 0, 0, 0)}",
        "tl.store(out0 + p, c + 0.8 * ss, mask=m)",
        "tl.atomic_add(total, tl.sum(tl.sum(tl.where(m, ss * ss, 0.0), axis=1), axis=0))",
    ]
    return ["p0", "wrk1", "bnd", "a0", "a1", "a2", "a3", "b0", "b1", "b2", "c0", "c1", "c2"], lines


def grayscott():
    def laplacian(g, c):
        taps = [load(g, *at) for at in ((0, 0, -1), (0, 0, 1), (0, -1, 0), (0, 1, 0), (-1, 0, 0), (1, 0, 0))]
        return f"{' + '.join(taps)} - 6.0 * {c}"

    return ["u", "v"], [
        f"a = {load('u', 0, 0, 0)}",
        f"b = {load('v', 0, 0, 0)}",
        "r = a * b * b",
        f"tl.store(out0 + p, a + 0.12 * ({laplacian('u', 'a')}) - r + 0.037 * (1.0 - a), mask=m)",
        f"tl.store(out1 + p, b + 0.06 * ({laplacian('v', 'b')}) + r - {0.037 + 0.06!r} * b, mask=m)",
    ]


def hotspot():
    t = lambda *at: load("t", *at)
    return ["t", "power"], [
        f"c = {t(0, 0)}",
        f"s = {load('power', 0, 0)} + 0.31 * ({t(1, 0)} + {t(-1, 0)} - 2.0 * c)"
        f" + 0.23 * ({t(0, 1)} + {t(0, -1)} - 2.0 * c) + 0.05 * (0.8 - c)",
        "tl.store(out0 + p, c + 0.34 * s, mask=m)",
    ]


def hdiff():
    lines = []
    for dj in range(-2, 3):
        for di in range(-2, 3):
            if abs(dj) + abs(di) <= 2:
                lines.append(f"u_{dj + 2}{di + 2} = {load('u', 0, dj, di)}")
    u = lambda dj, di: f"u_{dj + 2}{di + 2}"
    for dj, di in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)):
        lines.append(f"lap_{dj + 1}{di + 1} = {u(dj, di - 1)} + {u(dj, di + 1)} + {u(dj - 1, di)} + {u(dj + 1, di)} - 4.0 * {u(dj, di)}")
    for name, (aj, ai), (bj, bi) in (("fx1", (0, 1), (0, 0)), ("fx0", (0, 0), (0, -1)), ("fy1", (1, 0), (0, 0)), ("fy0", (0, 0), (-1, 0))):
        lines.append(f"{name} = lap_{aj + 1}{ai + 1} - lap_{bj + 1}{bi + 1}")
        lines.append(f"{name} = tl.where({name} * ({u(aj, ai)} - {u(bj, bi)}) > 0, 0.0, {name})")
    lines.append(f"tl.store(out0 + p, {u(0, 0)} - {load('rate', 0, 0, 0)} * (fx1 - fx0 + fy1 - fy0), mask=m)")
    return ["u", "rate"], lines


BODIES = {name: (lambda taps=taps: linear(taps)) for name, taps in TAPS.items()}
BODIES |= {"wave": wave, "himeno": himeno, "grayscott": grayscott, "hotspot": hotspot, "hdiff": hdiff}


def text(name):
    """A kernel's source, and the number of its inputs."""
    case = CASES[name]
    inputs, lines = BODIES[name]()
    outputs = [f"out{n}" for n in range(case.outputs)]
    deep = len(case.rim) == 3
    rim = case.rim[-2:]
    head = [
        f"i = tl.program_id(0) * BX + {rim[1]} + tl.arange(0, BX)[None, :]",
        f"j = tl.program_id(1) * BY + {rim[0]} + tl.arange(0, BY)[:, None]",
        f"m = (j < M - {rim[0]}) & (i < N - {rim[1]})",
    ]
    if deep:
        head += [f"k = tl.program_id(2) + {case.rim[0]}", "p = (k * M + j) * N + i"]
    else:
        head += ["p = j * N + i"]
    args = ", ".join(inputs + outputs + ["total", "M", "N", "BY: tl.constexpr", "BX: tl.constexpr"])
    body = "".join(f"    {line}\n" for line in head + lines)
    return f"import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef step({args}):\n{body}"


def kernel(name):
    """The kernel, compiled from a file: Triton reads the source again."""
    path = os.path.join(tempfile.mkdtemp(prefix="gridloom-rival-"), f"{name}.py")
    with open(path, "w") as f:
        f.write(text(name))
    spec = importlib.util.spec_from_file_location(f"triton_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.step


def variants(problem):
    step, case, shape = kernel(problem.name), problem.case, problem.shape
    rows, columns = (n - 2 * r for n, r in zip(shape[-2:], case.rim[-2:]))
    planes = shape[0] - 2 * case.rim[0] if len(shape) == 3 else 1
    views = [out[problem.interior] for out in problem.outputs]
    results = views + ([problem.sum] if case.scalar else [])

    def variant(by, bx, warps):
        grid = (triton.cdiv(columns, bx), triton.cdiv(rows, by), planes)

        def run():
            if case.scalar:
                problem.sum.zero_()
            step[grid](*problem.inputs, *problem.outputs, problem.sum, shape[-2], shape[-1], BY=by, BX=bx, num_warps=warps)
            return results

        return run

    return {f"{by}x{bx}, {warps} warps": variant(by, bx, warps) for by, bx, warps in SHAPES}


if __name__ == "__main__":
    rival.main("Triton", variants)
