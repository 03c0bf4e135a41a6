"""Chebyshev's iteration with constant weights for a x - b laplacian(x) = rhs on the 7-point stencil: each step adds a
part of the step before and the residual over the operator's diagonal."""
import numpy as np


def compute(v):
    top, bottom = v["top"], v["bottom"]
    # The limit of rho = 1/(2 middle/half - rho), which is how the weights come about.
    ratio, rho = (top + bottom)/(top - bottom), 0.0
    for _ in range(200):
        rho = 1/(2*ratio - rho)
    momentum, weight = rho*rho, 4*rho/(top - bottom)
    inside = (slice(1, -1),)*3
    history = [v["y"].copy(), v["x"].copy(), v["next"].copy()]
    for _ in range(int(v["steps"])):
        before, now, after = history
        laplacian = -6*now
        for axis in range(3):
            laplacian += np.roll(now, 1, axis) + np.roll(now, -1, axis)
        residual = v["rhs"] - v["a"]*now + v["b"]*laplacian
        step = momentum*(now - before) + weight*v["dinv"]*residual
        after[inside] = (now + step)[inside]
        history = [now, after, before]
    return {"x": history[1]}
