"""Super-grid damping of sixth order, as in examples/addsgd6.loom. The third difference of rho*dc at half points
times the third difference of the velocity u - um, along x, y and z, is added to up."""

import numpy as np


def damping(v, m, axis):
    """Component m along an axis, at the cells that have all neighbours on it."""
    letter = "zyx"[axis]
    shape = [1, 1, 1]
    shape[axis] = -1
    coefficient = v["rho"]*v["dc" + letter].reshape(shape)
    slope = np.diff(v[f"u{m}"] - v[f"um{m}"], 3, axis=axis)
    low, high = [slice(None)]*3, [slice(None)]*3
    low[axis], high[axis] = slice(1, -2), slice(2, -1)
    flux = 0.5*(coefficient[tuple(low)] + coefficient[tuple(high)])*slope
    return np.diff(flux, 3, axis=axis)


def compute(v):
    inside = (slice(3, -3),)*3
    taper = {0: np.einsum("k,j,i->kji", v["strz"], v["coy"], v["cox"]),
             1: np.einsum("k,j,i->kji", v["coz"], v["stry"], v["cox"]),
             2: np.einsum("k,j,i->kji", v["coz"], v["coy"], v["strx"])}
    out = {}
    for m in range(3):
        total = np.zeros_like(v["rho"][inside])
        for axis in range(3):
            others = tuple(slice(None) if a == axis else slice(3, -3) for a in range(3))
            total += taper[axis][inside]*damping(v, m, axis)[others]
        out[f"up{m}"] = v[f"up{m}"].copy()
        out[f"up{m}"][inside] += v["beta"]/v["rho"][inside]*total
    return out
