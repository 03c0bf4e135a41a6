#!/usr/bin/env python3
"""Times many kernels of several iterations in a short time, to find out what holds them back.

    gridloom bench temporal --case star7 --dtype float --set N=512 --plan '...' --plan '...' --sources sources
    bench/kernels.py --cells 134217728 sources/*.cu
    bench/kernels.py --clocks --change 'bool rim_ends_here = [^;]*;=bool rim_ends_here = false;' sources/*.cu

NVRTC compiles the last kernel of each file, those of all files side by side. It is launched on random numbers so many
times in a row, the input and the output changing places, and the files take turns. A hundred kernels take half a
minute; a row of "gridloom bench temporal" takes as long, but compares every cell and lasts until the GPU is hot. So
figures for others come from there. What is found here is where to look.

--change REGEX=TEXT changes the source first, at all places that match: a part of a kernel is left out so, to see what
it costs. It may be given several times. The first = that no space and no other operator follows divides the two.
--clocks tells when each block has ended, in cycles of its multiprocessor: the least, the median, the most.
--json writes the figures, and the cycles of all blocks.

Needs CuPy for the driver. Scalars of the program are all 0.04. Kernels with whole numbers among their arguments are
left out: use sizes=literals.
"""
import argparse
import concurrent.futures
import json
import os
import re
import statistics
import sys
import tempfile

from paths import Compiler

KERNEL = re.compile(r'extern "C" __global__[^{]*?void (\w+)\(([^)]*)\)\s*\{')
LAUNCH = re.compile(r"// Launch: (\d+) blocks \(block\) of (\d+) x (\d+) threads.*?(?:with (\d+) bytes|\.$)", re.M)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--cells", type=int, default=512**3, help="of a grid")
    p.add_argument("--launches", type=int, default=30)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--change", action="append", default=[], metavar="REGEX=TEXT")
    p.add_argument("--clocks", action="store_true")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--nvrtc", default="libnvrtc.so")
    p.add_argument("--arch", default="sm_90")
    return p.parse_args()


def changed(source, change):
    """Returns the source with REGEX=TEXT carried out."""
    divide = re.search(r"(?<![<>=!])=(?![<>=!\s])", change)
    if not divide:
        raise SystemExit(f"--change {change}: write REGEX=TEXT")
    regex, text = change[:divide.start()], change[divide.end():]
    new, n = re.subn(regex, text, source)
    if n == 0:
        raise ValueError(f"nothing matches {regex}")
    return new


def with_clocks(source, kernel):
    """Returns the source in which the first thread of each block notes when the block has ended."""
    body = source[kernel.end():]
    end = body.rstrip().rfind("}")
    return (source[:kernel.start()] + "__device__ long long block_cycles[4096];\n" + source[kernel.start():kernel.end()]
            + "\n    const long long began = clock64();\n" + body[:end]
            + "    if (threadIdx.x == 0 && threadIdx.y == 0) block_cycles[blockIdx.x] = clock64() - began;\n}\n")


def compiled(name, number, options, compiler, folder):
    """Compiles the last kernel of a file, and returns what a launch needs."""
    with open(name) as file:
        source = file.read()
    plan = source.split("\n", 1)[0].lstrip("/ ")
    kernels, launch = list(KERNEL.finditer(source)), LAUNCH.findall(source)[-1]
    source = source[:kernels[0].start()] + source[kernels[-1].start():]
    for change in options.change:
        source = changed(source, change)
    kernel = KERNEL.search(source)
    if options.clocks:
        source = with_clocks(source, kernel)
    try:
        code, said = compiler.compile(source.encode())
    except SystemExit as e:
        raise ValueError(str(e)[:500]) from e
    binary = os.path.join(folder, f"{number}.cubin")
    with open(binary, "wb") as file:
        file.write(code)
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    blocks, x, y, shared = (int(n or 0) for n in launch)
    return {
        "file": name, "plan": plan, "binary": binary, "kernel": kernel[1],
        "arguments": [a.strip() for a in kernel[2].split(",")], "blocks": blocks, "threads": (x, y), "shared": shared,
        "registers": int(re.search(r"Used (\d+) registers", said)[1]), "spills": [int(n) for n in spills.groups()],
        "depth": int(re.search(r"@(\d+)", plan)[1]), "times": [],
    }


class Device:
    """Gives kernels memory, and launches them."""

    def __init__(self, cells):
        try:
            import cupy
        except ImportError as e:
            raise SystemExit(f"{e}: install CuPy (cupy-cuda13x, or what fits the driver)") from e
        self.cupy, self.cells, self.memory = cupy, cells + 4096, {}
        self.random = cupy.random.default_rng(1)

    def grid(self, kind, number):
        if (kind, number) not in self.memory:
            self.memory[kind, number] = self.random.random(self.cells, dtype=kind)
        return self.memory[kind, number]

    def open(self, k):
        k["module"] = self.cupy.RawModule(path=k["binary"])
        k["function"] = k["module"].get_function(k["kernel"])
        if k["shared"] > 48 << 10:
            k["function"].max_dynamic_shared_size_bytes = k["shared"]
        names = k["arguments"]
        kind = "float64" if "double" in names[0] else "float32"
        out = next(n for n, a in enumerate(names) if "*" in a and "const" not in a)
        swap = {0: out, out: 0}
        given = [self.grid(kind, n) if "*" in a else self.number(a) for n, a in enumerate(names)]
        k["given"] = tuple(given), tuple(given[swap.get(n, n)] for n in range(len(names)))

    def number(self, argument):
        """Returns a value for a scalar of the program."""
        for kind, make in ("double", self.cupy.float64), ("float", self.cupy.float32):
            if kind in argument.split():
                return make(0.04)
        raise ValueError(f"has the argument {argument}: use sizes=literals")

    def time(self, k, launches):
        """Returns the seconds of a launch."""
        for n in range(4):
            self.launch(k, n)
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record()
        for n in range(launches):
            self.launch(k, n)
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(begin, end) / launches * 1e-3

    def launch(self, k, n):
        k["function"]((k["blocks"],), k["threads"], k["given"][n % 2], shared_mem=k["shared"])

    def cycles(self, k):
        at = k["module"].get_global("block_cycles")
        return self.cupy.ndarray((4096,), dtype="int64", memptr=at).get()[:k["blocks"]].tolist()


def main():
    options = parse()
    kernels, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                compiler = Compiler(options.nvrtc, options.arch)
            except OSError as e:
                raise SystemExit(f"{e}: name libnvrtc.so by --nvrtc") from e
            jobs = [(name, pool.submit(compiled, name, n, options, compiler, folder))
                    for n, name in enumerate(options.files)]
        device = Device(options.cells)
        for name, job in jobs:
            try:
                kernels.append(job.result())
                device.open(kernels[-1])
            except (ValueError, OSError, IndexError) as e:  # no such file, no kernel in it, no code of it
                print(f"{name}: {e}", file=sys.stderr)
                failed = True
                if kernels and kernels[-1]["file"] == name:
                    kernels.pop()
        for n in range(options.rounds):
            for k in kernels if n % 2 == 0 else kernels[::-1]:
                k["times"].append(device.time(k, options.launches))
        rows = []
        for k in kernels:
            rates = sorted(options.cells * k["depth"] / t / 1e9 for t in k["times"])
            row = {"file": k["file"], "plan": k["plan"], "gstencils": statistics.median(rates), "rates": rates,
                   "registers": k["registers"], "spills": k["spills"]}
            text = f"{row['gstencils']:8.1f} ({rates[0]:.0f} to {rates[-1]:.0f}) {k['registers']:3} registers, " \
                   f"{k['spills'][0]}+{k['spills'][1]} bytes spilled"
            if options.clocks:
                row["cycles"] = device.cycles(k)
                ordered = sorted(row["cycles"])
                text += f", cycles {ordered[0]} {ordered[len(ordered) // 2]} {ordered[-1]}"
            print(f"{text}: {os.path.basename(k['file'])} {k['plan']}", flush=True)
            rows.append(row)
    if options.json:
        with open(options.json + ".tmp", "w") as file:
            json.dump(rows, file, indent=1)
        os.replace(options.json + ".tmp", options.json)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
