"""Compares a program's results with those of the module NAME beside this file, cell by cell: compare.py NAME DIR.

DIR has before/GRID.npy of every grid, after/GRID.npy of every result, and facts.json with the values of the scalars
and parameters ("scalars"), the names of the results ("results") and of those that are zero by design ("zero").
The exit status is 1 unless all agree."""

import importlib
import json
import pathlib
import sys

import numpy as np

MOST = 1e-12  # the largest difference over the largest magnitude of a grid


def compare(grid, got, want, zero):
    """The largest difference over the largest magnitude. Exits if a grid is not what it has to be."""
    if got.shape != want.shape:
        sys.exit(f"{grid}: the shape is {got.shape}, want {want.shape}")
    for what, a in (("the program's", got), ("NumPy's", want)):
        if not np.isfinite(a).all():
            cell = tuple(map(int, np.argwhere(~np.isfinite(a))[0]))
            sys.exit(f"{grid}: {what} cell {cell} is {a[cell]}")
        if zero and a.any():
            sys.exit(f"{grid}: {what} cells are not all zero")
        if not zero and a.min() == a.max():
            sys.exit(f"{grid}: all of {what} cells are {a.flat[0]}")
    if zero:
        return 0.0
    difference = np.abs(got - want)
    figure = difference.max()/np.abs(want).max()
    if not figure <= MOST:
        cell = tuple(map(int, np.unravel_index(difference.argmax(), got.shape)))
        sys.exit(f"{grid}: cell {cell} is {got[cell]!r}, want {want[cell]!r}; "
                 f"the difference is {figure:.2g} of the largest magnitude, and may be {MOST}")
    return figure


def main(name, folder):
    folder = pathlib.Path(folder)
    facts = json.loads((folder/"facts.json").read_text())
    v = {scalar: float(value) for scalar, value in facts["scalars"].items()}
    for path in (folder/"before").glob("*.npy"):
        v[path.stem] = np.load(path).astype(np.float64)
    want = importlib.import_module(name).compute(v)
    if set(want) != set(facts["results"]):
        sys.exit(f"compute returns {sorted(want)}, and the results are {sorted(facts['results'])}")
    worst = max(compare(grid, np.load(folder/"after"/f"{grid}.npy"), want[grid], grid in facts["zero"])
                for grid in facts["results"])
    print(f"{name}: results compared: {len(want)}, largest difference: {worst:.2g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
