"""The viscous terms of the Navier-Stokes equations, of eighth order: the rates
of momenta and energy by friction and by the conduction of heat."""

import math

import numpy as np


def compute(v):
    inverse_spacing = (v["dxinv"], v["dyinv"], v["dzinv"])
    velocity = (v["u"], v["v"], v["w"])

    def first(a, x):
        return inverse_spacing[x] * apply(weights(1), a, 2 - x)  # x runs along the last axis

    def second(a, x):
        return inverse_spacing[x] ** 2 * apply(weights(2), a, 2 - x)

    gradient = [[first(velocity[m], x) for x in range(3)] for m in range(3)]

    # The divergence of eta*(du_m/dx_n + du_n/dx_m - 2/3*delta_mn*div u) for a constant eta.
    force = []
    for m in range(3):
        laplacian = sum(second(velocity[m], x) for x in range(3))
        compression = second(velocity[m], m) + sum(first(gradient[n][n], m) for n in range(3) if n != m)
        force.append(v["eta"] * (laplacian + compression / 3))

    divergence = sum(gradient[m][m] for m in range(3))
    friction = 0.0
    for m in range(3):
        for n in range(3):
            stress = gradient[m][n] + gradient[n][m] - (2 / 3 * divergence if m == n else 0.0)
            friction = friction + stress * gradient[m][n]
    work = sum(force[m] * velocity[m] for m in range(3))
    conduction = v["lam"] * sum(second(v["t"], x) for x in range(3))

    rates = {
        "r_t": np.zeros_like(friction),
        "mx_t": force[0],
        "my_t": force[1],
        "mz_t": force[2],
        "e_t": conduction + v["eta"] * friction + work,
    }
    inner = (slice(4, -4),) * 3
    out = {}
    for name, rate in rates.items():
        out[name] = v[name].copy()
        out[name][inner] = rate[inner]
    return out


def weights(order):
    """Weights at the offsets -4..4 of a derivative, exact for polynomials up to degree 8."""
    powers = np.vander(np.arange(-4.0, 5.0), 9, increasing=True).T
    return np.linalg.solve(powers, math.factorial(order) * np.eye(9)[order])


def apply(w, a, axis):
    """Difference weights along an axis; rows of the matrix without all neighbours are zero."""
    n = a.shape[axis]
    matrix = np.zeros((n, n))
    for row in range(4, n - 4):
        matrix[row, row - 4 : row + 5] = w
    return np.moveaxis(np.tensordot(matrix, a, (1, axis)), 0, axis)
