"""Euler's equations in conservation form: the rates of density, momenta and
energy, by derivatives of eighth order of the fluxes along each axis."""

import numpy as np


def compute(v):
    spacing = {2: v["dxinv"], 1: v["dyinv"], 0: v["dzinv"]}  # x runs along the last axis
    velocity = {2: v["u"], 1: v["v"], 0: v["w"]}
    momentum = {2: v["mx"], 1: v["my"], 0: v["mz"]}

    rates = {"r_t": 0.0, "mx_t": 0.0, "my_t": 0.0, "mz_t": 0.0, "e_t": 0.0}
    for axis, c in velocity.items():
        rates["r_t"] = rates["r_t"] - derivative(momentum[axis], axis, spacing[axis])
        for name, along in (("mx_t", 2), ("my_t", 1), ("mz_t", 0)):
            flux = momentum[along] * c + (v["p"] if along == axis else 0.0)
            rates[name] = rates[name] - derivative(flux, axis, spacing[axis])
        rates["e_t"] = rates["e_t"] - derivative((v["e"] + v["p"]) * c, axis, spacing[axis])

    inner = (slice(4, -4),) * 3
    out = {}
    for name, rate in rates.items():
        out[name] = v[name].copy()
        out[name][inner] = rate[inner]
    return out


def weights():
    """Weights at the offsets -4..4 that are exact for polynomials up to degree 8."""
    powers = np.vander(np.arange(-4.0, 5.0), 9, increasing=True).T
    return np.linalg.solve(powers, np.eye(9)[1])


def derivative(a, axis, inverse_spacing):
    """The first derivative; rows of the matrix without all neighbours are zero."""
    n = a.shape[axis]
    matrix = np.zeros((n, n))
    for row in range(4, n - 4):
        matrix[row, row - 4 : row + 5] = weights()
    return inverse_spacing * np.moveaxis(np.tensordot(matrix, a, (1, axis)), 0, axis)
