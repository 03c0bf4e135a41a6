"""PyTorch's compiler: the formula on slices, compiled for fixed sizes. It may
write its result in place or return it, with PyTorch's own choice of block
shapes or with the fastest that it finds; the fastest counts."""

import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch

import rival


def variants(problem):
    case, arrays = problem.case, problem.inputs
    views = [out[problem.interior] for out in problem.outputs]
    count = len(views)

    def returned(*inputs):
        return case.formula(case, torch.where, *inputs)

    def placed(*all):
        results = case.formula(case, torch.where, *all[count:])
        for n in range(count):
            all[n].copy_(results[n])
        return results[count:]

    def step_returned(f):
        return lambda: f(*arrays)

    def step_placed(f):
        return lambda: views + list(f(*views, *arrays))

    def compiled(f, **how):
        return torch.compile(f, fullgraph=True, dynamic=False, **how)

    searched = "max-autotune-no-cudagraphs"
    return {
        "returned": step_returned(compiled(returned)),
        "in place": step_placed(compiled(placed)),
        "in place, block shapes searched": step_placed(compiled(placed, mode=searched)),
    }


if __name__ == "__main__":
    rival.main("torch.compile", variants)
