"""What the Python module refuses, and what it says."""

import threading

import numpy as np

import kinds


def refused(label, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except Exception as e:
        status = f" {e.status}" if isinstance(e, kinds.KindsError) else ""
        words = "" if label.endswith("missing") else f": {e}"  # Python's own, which differ
        print(f"{label}: {type(e).__name__}{status}{words}")
    else:
        print(f"{label}: not refused")


refused("size 0", kinds.Kinds, 0, 5, False, 1, 1.0, 3)
refused("a size that is no number", kinds.Kinds, "3", 5, False, 1, 1.0, 3)
refused("a size that is cut", kinds.Kinds, 2**64 + 3, 5, False, 1, 1.0, 3)
refused("an int that is cut", kinds.Kinds, 3, 5, False, 2**31, 1.0, 3)
refused("a byte that is cut", kinds.Kinds, 3, 5, False, 1, 1.0, 256)
refused("too many threads", kinds.Kinds, 3, 5, False, 1, 1.0, 3, threads=-1)
refused("an argument is missing", kinds.Kinds, 3, 5, False, 1, 1.0)

program = kinds.Kinds(M=3, N=5, off=False, shift=1, weight=1.0, rule=3, scale=0.5)
assert program["scale"] == 0.5 and program["off"] is False and program["rule"] == 3
program["scale"] = np.float64(0.25)
assert program["scale"] == 0.25
refused("unknown scalar", lambda: program["speed"])
refused("unknown grid", program.shape, "w")
good = {name: program.zeros(name) for name in program.grids}
assert good["mask"].shape == (3, 5) and good["mask"].dtype == bool and good["d"].shape == (4,)


def init(**other):
    program.init(*{**good, **other}.values())


refused("iterate before init", program.iterate, 1, *good.values())
refused("a list", init, cells=[1, 2])
refused("another dtype", init, f=np.zeros((3, 5)))
refused("another byte order", init, f=np.zeros((3, 5), ">f4"))
refused("another shape", init, cells=np.zeros((5, 3), np.uint8))
refused("Fortran order", init, count=np.zeros((3, 5), np.int32, order="F"))
refused("a view with gaps", init, births=np.zeros(10, np.int32)[::2])
fixed = np.zeros((3, 5), bool)
fixed.flags.writeable = False
refused("not writeable", init, mask=fixed)
refused("two grids in one array", init, mask=good["cells"].view(bool))
refused("not aligned", init, f=np.zeros(61, np.uint8)[1:].view(np.float32).reshape(3, 5))
refused("an unknown grid is given", program.init, *good.values(), given=["cells", "next"])
init()
refused("a count that is no number", program.iterate, 1.5, *good.values())
refused("a negative count", program.iterate, -1, *good.values())
program.iterate(2, *good.values())

# Two programs in two threads, ctypes having released the interpreter's lock.
results = []


def work():
    with kinds.Kinds(30, 50, False, 1, 0.5, 3) as own:
        arrays = [own.zeros(name) for name in own.grids]
        arrays[0][:, ::3] = 1
        own.init(*arrays, given="cells")
        for _ in range(20):
            own.iterate(1, *arrays)
        results.append(arrays[4].tobytes() + bytes(str(own["total"]), "ascii"))


threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert len(results) == 2 and results[0] == results[1]

program.close()
program.close()
refused("a closed program", program.iterate, 1, *good.values())
refused("a scalar of a closed program", lambda: program["rule"])
