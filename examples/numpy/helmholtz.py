"""Weighted Jacobi steps for c u - laplacian(u) = source on the 13-point stencil of fourth order, as
u + omega (source - A u)/d with the diagonal d of the operator A."""
import numpy as np


def second(n):
    """The matrix of second derivatives of n values at the n-4 that have two on either side."""
    m = np.zeros((n - 4, n))
    for row in range(n - 4):
        m[row, row:row + 5] = np.array([-1, 16, -30, 16, -1])/12
    return m


def compute(v):
    c, h = v["c"], v["h"]
    d = [second(n) for n in v["u"].shape]
    levels = [v["u"].copy(), v["next"].copy()]
    for _ in range(int(v["steps"])):
        u, out = levels
        inner = u[2:-2, 2:-2, 2:-2]
        laplacian = (np.einsum("ak,kji->aji", d[0], u[:, 2:-2, 2:-2])
                     + np.einsum("bj,kji->kbi", d[1], u[2:-2, :, 2:-2])
                     + np.einsum("ci,kji->kjc", d[2], u[2:-2, 2:-2, :]))/h**2
        residual = v["source"] - (c*inner - laplacian)
        out[2:-2, 2:-2, 2:-2] = inner + v["omega"]*residual/(c + 7.5/h**2)
        levels.reverse()
    return {"u": levels[0]}
