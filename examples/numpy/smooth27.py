"""Weighted Jacobi steps for c u - laplacian(u) = source on the 27-point stencil, as u + omega (source - A u)/d with the
diagonal d of the operator A. The weights are those of products of second differences on the axes."""
import numpy as np


def weights():
    """The sum of second differences, a sixth of their products in pairs, and a thirtieth of the product of three."""
    one, d2 = np.array([0.0, 1, 0]), np.array([1.0, -2, 1])

    def product(z, y, x):
        return np.einsum("k,j,i->kji", z, y, x)

    single = product(d2, one, one) + product(one, d2, one) + product(one, one, d2)
    pairs = product(d2, d2, one) + product(d2, one, d2) + product(one, d2, d2)
    return single + pairs/6 + product(d2, d2, d2)/30


def compute(v):
    c, h, w = v["c"], v["h"], weights()
    levels = [v["u"].copy(), v["next"].copy()]
    for _ in range(int(v["steps"])):
        u, out = levels
        windows = np.lib.stride_tricks.sliding_window_view(u, (3, 3, 3))
        laplacian = np.einsum("kjizyx,zyx->kji", windows, w)/h**2
        inner = u[1:-1, 1:-1, 1:-1]
        residual = v["source"] - (c*inner - laplacian)
        out[1:-1, 1:-1, 1:-1] = inner + v["omega"]*residual/(c - w[1, 1, 1]/h**2)
        levels.reverse()
    return {"u": levels[0]}
