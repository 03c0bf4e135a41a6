"""One step of a finite-volume scheme: fourth-order averages of density, velocity and energy on the faces of cells,
times the velocity through the face, and the differences of these fluxes on three axes."""
import numpy as np


def to_faces(n):
    """The matrix that takes n cells to the n-3 faces that have two cells on either side."""
    m = np.zeros((n - 3, n))
    for face in range(n - 3):
        m[face, face:face + 4] = np.array([-1, 7, 7, -1])/12
    return m


def along(matrix, q, axis):
    """The matrix applied to each line of q along the axis."""
    return np.moveaxis(np.tensordot(matrix, q, axes=(1, axis)), 0, axis)


def compute(v):
    q = np.stack([v[f"q{c}"] for c in range(5)])
    new = np.stack([v[f"n{c}"] for c in range(5)])
    inside = (slice(None),) + (slice(2, -2),)*3
    new[inside] = q[inside]
    out = {}
    for axis, letter, velocity in ((3, "x", 1), (2, "y", 2), (1, "z", 3)):
        faces = along(to_faces(q.shape[axis]), q, axis)
        cut = [slice(None)] + [slice(2, -2)]*3  # all faces on this axis, the updated cells on the others
        cut[axis] = slice(None)
        flux = (faces*faces[velocity])[tuple(cut)]
        for c in range(5):
            out[f"g{letter}{c}"] = flux[c]
        new[inside] -= v["c" + letter]*np.diff(flux, axis=axis)
    for c in range(5):
        out[f"n{c}"] = new[c]
    return out
