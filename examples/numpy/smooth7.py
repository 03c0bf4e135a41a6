"""Weighted Jacobi steps for c u - laplacian(u) = source on the 7-point stencil, as u + omega (source - A u)/d with the
diagonal d of the operator A."""
import numpy as np


def compute(v):
    c, h = v["c"], v["h"]
    levels = [v["u"].copy(), v["next"].copy()]
    for _ in range(int(v["steps"])):
        u, out = levels
        bends = [np.diff(u, 2, axis=a) for a in range(3)]
        laplacian = (bends[0][:, 1:-1, 1:-1] + bends[1][1:-1, :, 1:-1] + bends[2][1:-1, 1:-1, :])/h**2
        inner = u[1:-1, 1:-1, 1:-1]
        residual = v["source"] - (c*inner - laplacian)
        out[1:-1, 1:-1, 1:-1] = inner + v["omega"]*residual/(c + 6/h**2)
        levels.reverse()
    return {"u": levels[0]}
