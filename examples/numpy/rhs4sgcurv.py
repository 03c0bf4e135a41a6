"""The elastic operator of SW4's interior in curvilinear coordinates, as in examples/rhs4sgcurv.loom. The stress
c[m,d,l,e]*du_l/dx_e and its divergence are written as tensors: lu = a1*lu + sgn*(d stress[m,d]/dx_d)."""

import itertools

import numpy as np

# (c u')' = sum over m, n of WEIGHTS[m][n] c[m] u[n], offsets -2..2.
WEIGHTS = np.array([[-3, 4, -1, 0, 0],
                    [4, 12, -20, 4, 0],
                    [-3, 12, -18, 12, -3],
                    [0, 4, -20, 12, 4],
                    [0, 0, -1, 4, -3]])/24


def shift(a, axis, n):
    """a at the index + n; what comes round from the other end is not used by compute."""
    return np.roll(a, -n, axis=axis)


def second(c, u, axis):
    return sum(shift(c, axis, m - 2)*WEIGHTS[m, n]*shift(u, axis, n - 2) for m in range(5) for n in range(5))


def first(u, axis):
    return (shift(u, axis, -2) - 8*shift(u, axis, -1) + 8*shift(u, axis, 1) - shift(u, axis, 2))/12


def compute(v):
    u = [v["u0"], v["u1"], v["u2"]]
    I, J, K = 2, 1, 0  # the axes of the arrays
    # The derivative along x, y, z is the sum of these times the derivatives along the axes.
    slope = [{I: v["met1"], K: v["met2"]}, {J: v["met1"], K: v["met3"]}, {K: v["met4"]}]
    stretch = [v["strx"][None, None, :], v["stry"][None, :, None], np.ones((1, 1, 1))]
    inside = (slice(2, -2),)*3
    out = {}
    for m in range(3):
        force = np.zeros_like(u[m])
        for d, l, e in itertools.product(range(3), repeat=3):
            stiff = v["la"]*((m == d)*(l == e)) + v["mu"]*((m == l)*(d == e) + (m == e)*(d == l))
            for a, na in slope[d].items():
                for b, nb in slope[e].items():
                    c = na*stiff*stretch[e]*nb
                    force += stretch[d]*(second(c, u[l], a) if a == b else first(c*first(u[l], b), a))
        out[f"lu{m}"] = v[f"lu{m}"].copy()
        out[f"lu{m}"][inside] = (v["a1"]*v[f"lu{m}"] + v["sgn"]*force/v["jac"])[inside]
    return out
