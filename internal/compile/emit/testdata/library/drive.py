"""Drives a library's Python module as a job file says.

usage: drive.py MODULE CLASS JOB.json. Every case of the job is configured, its
arrays are filled from files, the calls are made and arrays and scalars are
written to files again.
"""

import importlib
import json
import os
import sys

import numpy as np

module = importlib.import_module(sys.argv[1])
program_class = getattr(module, sys.argv[2])
with open(sys.argv[3]) as f:
    cases = json.load(f)

# Libraries for a GPU have no threads, and functions for its memory, which the
# pretended runtime has in the host's.
threaded = hasattr(program_class, "set_threads")
host = {name: getattr(module, "_" + name) for name in ("init", "iterate", "run")}

for case in cases:
    folder = case["folder"]
    for name, function in host.items():
        if case["device"] and module._grids:
            function = module._declare(name + "_device", *function.argtypes)
        setattr(module, "_" + name, function)
    with program_class(*case["arguments"], **({"threads": case["threads"]} if threaded else {})) as program:
        for name, value in case["set"].items():
            program[name] = value
        arrays = {}
        for name in program.grids:
            arrays[name] = program.empty(name)
            path = os.path.join(folder, name + ".in")
            if name in case["given"]:
                arrays[name][...] = np.fromfile(path, program.dtype(name)).reshape(program.shape(name))
            else:
                arrays[name].view(np.uint8).fill(0x5A)
        addresses = {name: a.ctypes.data for name, a in arrays.items()}
        program.init(*arrays.values(), given=case["given"])
        for call in case["calls"]:
            if call < 0:
                program.run(*arrays.values())
            else:
                program.iterate(call, *arrays.values())
        for name, a in arrays.items():
            assert a.ctypes.data == addresses[name], "arrays are used in place"
            a.tofile(os.path.join(folder, name + ".out"))
        with open(os.path.join(folder, "scalars"), "w") as f:
            for name in case["scalars"]:
                value = program[name]
                print(name, value.hex() if isinstance(value, float) else int(value), file=f)
            if hasattr(program, "steps"):
                print("steps", program.steps, file=f)
