"""The elastic operator of SW4's interior, as in examples/rhs4center.loom: uacc = a1*uacc + cof*(divergence of the
stress), of fourth order, with stretched coordinates. Second derivatives by matrices of weights for (c u')'."""

import numpy as np

# (c u')' = sum over m, n of WEIGHTS[m][n] c[m] u[n], offsets -2..2.
WEIGHTS = np.array([[-1/8, 1/6, -1/24, 0, 0],
                    [1/6, 1/2, -5/6, 1/6, 0],
                    [-1/8, 1/2, -3/4, 1/2, -1/8],
                    [0, 1/6, -5/6, 1/2, 1/6],
                    [0, 0, -1/24, 1/6, -1/8]])


def shift(a, axis, n):
    """a at the index + n; what comes round from the other end is not used by compute."""
    return np.roll(a, -n, axis=axis)


def second(c, u, axis):
    return sum(shift(c, axis, m - 2)*WEIGHTS[m, n]*shift(u, axis, n - 2) for m in range(5) for n in range(5))


def first(u, axis):
    return (shift(u, axis, -2) - 8*shift(u, axis, -1) + 8*shift(u, axis, 1) - shift(u, axis, 2))/12


def compute(v):
    u = [v["u0"], v["u1"], v["u2"]]
    axes = [2, 1, 0]  # of x, y, z in the arrays
    stretch = [v["strx"][None, None, :], v["stry"][None, :, None], v["strz"][:, None, None]]
    inside = (slice(2, -2),)*3
    out = {}
    for m in range(3):
        force = np.zeros_like(u[m])
        for b in range(3):
            stiff = v["mu"] if b != m else 2*v["mu"] + v["la"]
            force += stretch[b]*second(stiff*stretch[b], u[m], axes[b])
            if b != m:
                force += stretch[m]*stretch[b]*(first(v["la"]*first(u[b], axes[b]), axes[m])
                                                + first(v["mu"]*first(u[b], axes[m]), axes[b]))
        out[f"uacc{m}"] = v[f"uacc{m}"].copy()
        out[f"uacc{m}"][inside] = (v["a1"]*v[f"uacc{m}"] + v["cof"]*force)[inside]
    return out
