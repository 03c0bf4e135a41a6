"""The mathematics of the benchmark's cases, for arrays of any library that
slices and adds. Weights and random seeds are those of the programs under
internal/tune/eval/bench/cases/spatial, so that results can be compared cell by cell.
"""

STAR7 = (0.4, [[0.08], [0.07], [0.13], [0.12], [0.11], [0.09]])
STAR13 = (0.28, [[0.035, 0.065], [0.09, 0.05], [0.08, 0.04], [0.07, 0.03], [0.055, 0.085], [0.045, 0.075]])
STAR25 = (0.28, [[0.0168, 0.0228, 0.0288, 0.036],
                 [0.042, 0.018, 0.024, 0.0312],
                 [0.0372, 0.0432, 0.0192, 0.0252],
                 [0.0324, 0.0384, 0.0444, 0.0204],
                 [0.0264, 0.0336, 0.0396, 0.0156],
                 [0.0216, 0.0276, 0.0348, 0.0408]])
STAR5 = (0.4, [[0.13], [0.17], [0.19], [0.11]])
BOX27 = [[[0.006, 0.016, 0.026], [0.038, 0.048, 0.004], [0.014, 0.024, 0.036]],
         [[0.046, 0.056, 0.012], [0.022, 0.22, 0.034], [0.044, 0.054, 0.01]],
         [[0.02, 0.032, 0.042], [0.052, 0.008, 0.018], [0.028, 0.04, 0.05]]]
BOX9 = [[0.035, 0.125, 0.065], [0.02, 0.36, 0.11], [0.05, 0.14, 0.095]]
BOX25 = [[0.008, 0.018, 0.028, 0.04, 0.05],
         [0.01, 0.02, 0.032, 0.042, 0.052],
         [0.012, 0.022, 0.28, 0.034, 0.044],
         [0.054, 0.014, 0.024, 0.036, 0.046],
         [0.006, 0.016, 0.026, 0.038, 0.048]]
WAVE = [-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560]


def star(centre, arms):
    """Taps of a star: (weight, offsets), two arms an axis from the innermost on."""
    rank = len(arms) // 2
    taps = [(centre, (0,) * rank)]
    for n, arm in enumerate(arms):
        axis, sign = rank - 1 - n // 2, 1 if n % 2 else -1
        for r, weight in enumerate(arm, 1):
            taps.append((weight, tuple(sign * r if d == axis else 0 for d in range(rank))))
    return taps


def box(weights, at=()):
    """Taps of a box: the table's middle is the cell itself."""
    if not isinstance(weights, list):
        return [(weights, at)]
    radius = len(weights) // 2
    return [tap for n, w in enumerate(weights) for tap in box(w, at + (n - radius,))]


TAPS = {
    "star7": star(*STAR7),
    "star13": star(*STAR13),
    "star25": star(*STAR25),
    "star5": star(*STAR5),
    "box27": box(BOX27),
    "box9": box(BOX9),
    "box25": box(BOX25),
}


class Case:
    """A step: its arrays with the seeds of their random values, and the cells
    that it leaves alone at the low and the high end of every axis."""

    def __init__(self, seeds, outputs, rim, formula, scalar=False):
        self.seeds, self.outputs, self.rim, self.formula, self.scalar = seeds, outputs, rim, formula, scalar

    def interior(self, shape):
        return tuple(slice(r, n - r) for r, n in zip(self.rim, shape))

    def at(self, u, *offset):
        """The neighbours at an offset of all cells of the interior."""
        return u[tuple([slice(r + o, n - r + o) for r, o, n in zip(self.rim, offset, u.shape)])]


def linear(taps):
    rank = len(taps[0][1])
    rim = tuple(max(abs(at[d]) for _, at in taps) for d in range(rank))

    def formula(c, where, u):
        total = taps[0][0] * c.at(u, *taps[0][1])
        for weight, at in taps[1:]:
            total = total + weight * c.at(u, *at)
        return [total]

    return Case([1], 1, rim, formula)


def wave(c, where, u, prev, v2):
    lap = 3 * WAVE[0] * c.at(u, 0, 0, 0)
    for r in range(1, 5):
        lap = lap + WAVE[r] * (c.at(u, 0, 0, -r) + c.at(u, 0, 0, r) + c.at(u, 0, -r, 0) + c.at(u, 0, r, 0)
                               + c.at(u, -r, 0, 0) + c.at(u, r, 0, 0))
    return [2 * c.at(u, 0, 0, 0) - c.at(prev, 0, 0, 0) + c.at(v2, 0, 0, 0) * lap]


def himeno(c, where, p, wrk1, bnd, a0, a1, a2, a3, b0, b1, b2, c0, c1, c2):
    def here(g):
        return c.at(g, 0, 0, 0)

    s0 = (here(a0) * c.at(p, 1, 0, 0) + here(a1) * c.at(p, 0, 1, 0) + here(a2) * c.at(p, 0, 0, 1)
          + here(b0) * (c.at(p, 1, 1, 0) - c.at(p, 1, -1, 0) - c.at(p, -1, 1, 0) + c.at(p, -1, -1, 0))
          + here(b1) * (c.at(p, 0, 1, 1) - c.at(p, 0, -1, 1) - c.at(p, 0, 1, -1) + c.at(p, 0, -1, -1))
          + here(b2) * (c.at(p, 1, 0, 1) - c.at(p, -1, 0, 1) - c.at(p, 1, 0, -1) + c.at(p, -1, 0, -1))
          + here(c0) * c.at(p, -1, 0, 0) + here(c1) * c.at(p, 0, -1, 0) + here(c2) * c.at(p, 0, 0, -1) + here(wrk1))
    ss = (s0 * here(a3) - here(p)) * here(bnd)
    return [here(p) + 0.8 * ss, (ss * ss).sum()]


def grayscott(c, where, u, v):
    def laplacian(g):
        return (c.at(g, 0, 0, -1) + c.at(g, 0, 0, 1) + c.at(g, 0, -1, 0) + c.at(g, 0, 1, 0)
                + c.at(g, -1, 0, 0) + c.at(g, 1, 0, 0) - 6 * c.at(g, 0, 0, 0))

    feed, kill = 0.037, 0.06
    a, b = c.at(u, 0, 0, 0), c.at(v, 0, 0, 0)
    uvv = a * b * b
    return [a + 0.12 * laplacian(u) - uvv + feed * (1 - a), b + 0.06 * laplacian(v) + uvv - (feed + kill) * b]


def hotspot(c, where, t, power):
    here = c.at(t, 0, 0)
    return [here + 0.34 * (c.at(power, 0, 0) + 0.31 * (c.at(t, 1, 0) + c.at(t, -1, 0) - 2 * here)
                           + 0.23 * (c.at(t, 0, 1) + c.at(t, 0, -1) - 2 * here) + 0.05 * (0.8 - here))]


def hdiff(c, where, u, rate):
    def lap(dj, di):
        return (c.at(u, 0, dj, di - 1) + c.at(u, 0, dj, di + 1) + c.at(u, 0, dj - 1, di) + c.at(u, 0, dj + 1, di)
                - 4 * c.at(u, 0, dj, di))

    def limited(flux, rise):
        return where(flux * rise > 0, 0.0 * flux, flux)

    def fx(di):
        return limited(lap(0, di + 1) - lap(0, di), c.at(u, 0, 0, di + 1) - c.at(u, 0, 0, di))

    def fy(dj):
        return limited(lap(dj + 1, 0) - lap(dj, 0), c.at(u, 0, dj + 1, 0) - c.at(u, 0, dj, 0))

    return [c.at(u, 0, 0, 0) - c.at(rate, 0, 0, 0) * (fx(0) - fx(-1) + fy(0) - fy(-1))]


CASES = {name: linear(taps) for name, taps in TAPS.items()}
CASES["wave"] = Case([1, 2, 3], 1, (4, 4, 4), wave)
CASES["himeno"] = Case([1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], 1, (1, 1, 1), himeno, scalar=True)
CASES["grayscott"] = Case([1, 2], 2, (1, 1, 1), grayscott)
CASES["hotspot"] = Case([1, 2], 1, (1, 1), hotspot)
CASES["hdiff"] = Case([1, 2], 1, (0, 2, 2), hdiff)
