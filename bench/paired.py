#!/usr/bin/env python3
"""Says whether a change makes rows of "gridloom bench spatial" or "bench cpu" slower.

Two binaries run the same rows on one device, one after the other in every round, the
first of a round in turn. Each measurement is merged into the result at once, so that the
same command goes on where an earlier one has stopped:

    bench/paired.py --old build/before --new build/gridloom --out bench/results/exact-h200.json

Rows are those of --rows, a result of the suite's --json. The suite "spatial" runs their best
plans. With --new-plans the new binary runs the first plan of a row in another file, if it has
one: the plan of a row that was tuned anew.

The suite "cpu" chooses plans itself. Its speeds are those relative to the code by hand in the
same process: both have the same memory and the same minutes. A binary without "bench cpu
--case" runs the whole suite, once a round.

A row holds if the 95 % interval of the ratio new/old reaches 0.99 and its median is at least
0.985. Exit status: 0 all hold, 1 some do not, 3 something could not be run.
"""

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

REACHES, MEDIAN = 0.99, 0.985

# Quantiles of Student's t for a two-sided 95 % interval, by degrees of freedom.
STUDENT = [math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--old", required=True, help="the binary before the change")
    p.add_argument("--new", required=True, help="the binary after it")
    p.add_argument("--out", required=True, help="where measurements are merged")
    p.add_argument("--suite", choices=sorted(SUITES), default="spatial")
    p.add_argument("--rows", help="rows with their plans; by default a result in bench/results")
    p.add_argument("--new-plans", metavar="FILE", help="lists of plans for the new binary, by case and type")
    p.add_argument("--only", action="append", metavar="CASE:TYPE", help="only this row (repeatable)")
    p.add_argument("--rounds", type=int, default=6, help="of each row; at least 3")
    p.add_argument("--device", default="cuda:0", help="of the suite spatial")
    p.add_argument("--pairs", type=int, default=9, help="that one measurement of the suite cpu takes")
    p.add_argument("--limit", type=float, default=300, help="seconds that one measurement may take")
    a = p.parse_args()
    if a.rounds < 3:
        p.error("--rounds: at least 3 are needed for an interval")
    a.suite = SUITES[a.suite]
    a.rows = a.rows or a.suite.rows
    return a


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def write(path, value):
    """Writes JSON; the file is whole or as it was."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False, encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")
    os.replace(f.name, path)


def digest(path):
    """Names a binary that does not know its commit."""
    with open(path, "rb") as f:
        return "sha256:" + hashlib.sha256(f.read()).hexdigest()[:12]


def bench(binary, words, args):
    """Runs "gridloom bench" and returns the rows of its result."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "rows.json")
        command = [binary, "bench", *words, "--json", result]
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr.strip()}")
        return read(result)


class Spatial:
    rows, speed = "bench/results/spatial-h200.json", "gstencils"
    kept = "gstencils", "fraction_of_copy", "registers", "spills", "device", "driver"

    @staticmethod
    def measure(binary, row, plan, args):
        """Returns what one measurement of a row says: of this row at least."""
        return [{**bench(binary, ["spatial", "--quick", "--device", args.device, "--case", row["case"],
                                  "--dtype", row["dtype"], "--plan", plan], args)[0],
                 "case": row["case"], "dtype": row["dtype"], "plan": row["plan"]}]


class Cpu:
    rows, speed = "bench/results/cpu-spatial.json", "ratio_to_openmp"
    kept = ("gstencils", "fraction_of_copy", "ratio_to_openmp", "ratio_low", "ratio_high", "pairs", "openmp",
            "machine", "compiler")

    @staticmethod
    def measure(binary, row, _, args):
        """Returns the row that is asked for, or all rows where the binary measures no single one."""
        words = ["cpu", "--pairs", str(args.pairs)]
        try:
            return bench(binary, [*words, "--case", row["case"]], args)
        except RuntimeError as e:
            if "unknown flag --case" not in str(e):
                raise
        return bench(binary, words, args)


SUITES = {"spatial": Spatial, "cpu": Cpu}


def interval(ratios):
    """Returns the 95 % interval of the mean of logarithms, as a ratio."""
    logs = [math.log(r) for r in ratios]
    mean, n = statistics.fmean(logs), len(logs)
    half = STUDENT[min(n - 1, len(STUDENT) - 1)] * statistics.stdev(logs) / math.sqrt(n)
    return math.exp(mean - half), math.exp(mean + half)


def holds(ratios):
    return interval(ratios)[1] >= REACHES and statistics.median(ratios) >= MEDIAN


def main():
    args = arguments()
    rows = [r for r in read(args.rows) if not args.only or f"{r['case']}:{r['dtype']}" in args.only]
    if not rows:
        sys.exit("paired.py: no row is called so")
    kept = read(args.out) if os.path.exists(args.out) else []
    tuned = read(args.new_plans) if args.new_plans else {}
    commits = {}
    for name in ("old", "new"):
        version = subprocess.run([getattr(args, name), "version", "--json"], capture_output=True, text=True)
        if version.returncode != 0:
            print(f"paired.py: {getattr(args, name)} says no version: {version.stderr.strip()}", file=sys.stderr)
            return 3
        commits[name] = json.loads(version.stdout).get("revision") or digest(getattr(args, name))

    def plan(row, name):
        if args.suite is Cpu:
            return None
        anew = tuned.get(row["case"], {}).get(row["dtype"]) if name == "new" else None
        return anew[0] if anew else row["plan"]

    def find(row, name, round_):
        same = {"case": row["case"], "dtype": row["dtype"], "binary": name, "round": round_, "commit": commits[name]}
        if plan(row, name):
            same["plan"] = plan(row, name)
        return next((k for k in kept if all(k.get(f) == v for f, v in same.items())), None)

    for round_ in range(1, args.rounds + 1):
        for row in rows:
            for name in ("old", "new") if round_ % 2 else ("new", "old"):
                if find(row, name, round_):
                    continue
                try:
                    measured = args.suite.measure(getattr(args, name), row, plan(row, name), args)
                except (RuntimeError, subprocess.TimeoutExpired, OSError, ValueError, IndexError) as e:
                    print(f"paired.py: {row['case']} {row['dtype']}, {name}: {e}", file=sys.stderr)
                    return 3
                for m in measured:
                    if not find(m, name, round_):
                        kept.append({"case": m["case"], "dtype": m["dtype"], "plan": plan(row, name) or m["plan"],
                                     "binary": name, "round": round_, "commit": commits[name],
                                     **{f: m[f] for f in args.suite.kept if f in m}})
                write(args.out, kept)
                if not find(row, name, round_):
                    print(f"paired.py: {row['case']} {row['dtype']}, {name}: not in the result", file=sys.stderr)
                    return 3
    bad, speed = 0, args.suite.speed
    digits = 1 if args.suite is Spatial else 3
    print(f"{'row':<22} {'old':>8} {'new':>8}  {'median':>7}  95 % interval     holds")
    for row in rows:
        pairs = [(find(row, "old", r), find(row, "new", r)) for r in range(1, args.rounds + 1)]
        ratios = [n[speed] / o[speed] for o, n in pairs]
        low, high = interval(ratios)
        bad += not holds(ratios)
        print(f"{row['case'] + ' ' + row['dtype']:<22} "
              f"{statistics.median(o[speed] for o, _ in pairs):8.{digits}f} "
              f"{statistics.median(n[speed] for _, n in pairs):8.{digits}f}  {statistics.median(ratios):7.4f}  "
              f"{low:.4f} to {high:.4f}  {'yes' if holds(ratios) else 'NO'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
