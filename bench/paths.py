#!/usr/bin/env python3
"""What a step of a kernel of several iterations costs, read from its machine code, without a GPU.

    gridloom bench temporal --case star13 --dtype float --plan 'body[0:2]@2{family=pipe,...}' --sources sources
    bench/paths.py sources/*.cu

NVRTC compiles each file for sm_90. For the longest loops that have no other inside, in the order of the code, it
prints how many instructions they have, and how many are on the path on which all branches are taken that lead
forward: that of a warp without rims. Spills are counted there, too. A loop for planes at the ends of the stream comes
before that of all others.

--nvrtc names libnvrtc.so (libnvrtc-builtins beside it), --cuobjdump the program of the CUDA toolkit.
"""
import argparse
import collections
import ctypes
import os
import re
import subprocess
import tempfile

LONG = 100  # instructions of a loop that counts


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--nvrtc", default="libnvrtc.so")
    p.add_argument("--cuobjdump", default="cuobjdump")
    p.add_argument("--arch", default="sm_90")
    return p.parse_args()


class Compiler:
    def __init__(self, path, arch):
        folder = os.path.dirname(os.path.abspath(path)) if "/" in path else ""
        for name in sorted(os.listdir(folder)) if folder else []:
            if name.startswith("libnvrtc-builtins.so"):
                ctypes.CDLL(os.path.join(folder, name), mode=ctypes.RTLD_GLOBAL)
                break
        self.lib, self.arch = ctypes.CDLL(path), arch

    def text(self, program, size, get):
        n = ctypes.c_size_t()
        size(program, ctypes.byref(n))
        buffer = ctypes.create_string_buffer(n.value)
        get(program, buffer)
        return buffer

    def compile(self, source):
        """Returns the code and what ptxas says of it."""
        program = ctypes.c_void_p()
        self.lib.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
        options = [f"--gpu-architecture={self.arch}".encode(), b"--std=c++17", b"--fmad=false", b"--ptxas-options=-v"]
        status = self.lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.text(program, self.lib.nvrtcGetProgramLogSize, self.lib.nvrtcGetProgramLog).value.decode()
        if status:
            raise SystemExit(f"NVRTC: status {status}\n{log[:2000]}")
        code = self.text(program, self.lib.nvrtcGetCUBINSize, self.lib.nvrtcGetCUBIN).raw
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        return code, log


def functions(sass):
    """Returns the instructions of each function with their addresses."""
    out, name = {}, None
    for line in sass.split("\n"):
        if found := re.search(r"Function : (\w+)", line):
            name = found[1]
            out[name] = []
        elif name and (found := re.match(r"\s+/\*([0-9a-f]{4,5})\*/\s+(.*?);", line)):
            out[name].append((int(found[1], 16), found[2]))
    return out


def target(instruction):
    found = re.search(r"BRA\b.*0x([0-9a-f]+)", instruction)
    return int(found[1], 16) if found else None


def loops(code):
    """Returns where loops begin and end that have no other inside."""
    found = [(to, at) for at, text in code if (to := target(text)) is not None and at - to > 16 * LONG]
    return [x for x in found if not any(y != x and y[0] >= x[0] and y[1] <= x[1] for y in found)]


def path(code, begin, end):
    """Returns the instructions from begin to end if branches that lead forward are taken."""
    place = {at: n for n, (at, _) in enumerate(code)}
    out, n = [], place[begin]
    while True:
        at, text = code[n]
        out.append(text)
        if at >= end:
            return out
        to = target(text)
        n = place[to] if to is not None and at < to <= end else n + 1


def kinds(instructions):
    return collections.Counter(re.sub(r"^@!?U?P\w+ ", "", text).split()[0].split(".")[0] for text in instructions)


def main():
    options = parse()
    compiler = Compiler(options.nvrtc, options.arch)
    for name in options.files:
        with open(name, "rb") as file:
            source = file.read()
        code, log = compiler.compile(source)
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(code)
            file.flush()
            sass = subprocess.run([options.cuobjdump, "-sass", file.name], capture_output=True, text=True, check=True)
        plan = source.split(b"\n", 1)[0].decode()
        print(f"{name}: {plan[3:]}")
        for function, instructions in functions(sass.stdout).items():
            said = re.search(rf"function '{function}'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?"
                             r"Used (\d+) registers", log, re.S)
            print(f"  {function}: {said[3]} registers, {said[1]} bytes spilled, {said[2]} loaded again")
            for begin, end in loops(instructions):
                on = kinds(path(instructions, begin, end))
                most = ", ".join(f"{k} {n}" for k, n in on.most_common(9))
                spills = f", spills LDL {on['LDL']} STL {on['STL']}" if on["LDL"] + on["STL"] else ""
                print(f"    loop of {(end - begin) // 16 + 1}, path of {sum(on.values())}{spills}: {most}")


if __name__ == "__main__":
    main()
