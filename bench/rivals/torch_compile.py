"""PyTorch's compiler: the formula on slices, compiled for fixed sizes. It may
write its result in place or return it, with PyTorch's own choice of block
shapes or with the fastest that it finds; the fastest counts."""

import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch

import rival


def variants(problem):
    case, arrays = problem.case, problem.inputs

    def returned(*inputs):
        return case.formula(case, torch.where, *inputs)

    def placed(outputs, *inputs):
        results = case.formula(case, torch.where, *inputs)
        for out, r in zip(outputs, results):
            out[problem.interior] = r
        return results[len(outputs):]

    def step_returned(f):
        return lambda: f(*arrays)

    def step_placed(f):
        views = [out[problem.interior] for out in problem.outputs]
        return lambda: views + list(f(problem.outputs, *arrays))

    searched = "max-autotune-no-cudagraphs"
    return {
        "returned": step_returned(torch.compile(returned, fullgraph=True, dynamic=False)),
        "in place": step_placed(torch.compile(placed, fullgraph=True, dynamic=False)),
        "in place, block shapes searched": step_placed(torch.compile(placed, fullgraph=True, dynamic=False, mode=searched)),
    }


if __name__ == "__main__":
    rival.main("torch.compile", variants)
