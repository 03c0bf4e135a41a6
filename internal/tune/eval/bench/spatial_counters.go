package bench

import (
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/tune/counters"
)

// count has Nsight Compute start another worker, which opens the case and tries a plan once more, and reads what it has
// counted in the plan's first launch.
func (s *sweep) count(r *SpatialRow) (*counters.Counters, error) {
	// The plain kernels come first, and may have the same name.
	first := r.Launched[0]
	skip := 0
	for _, name := range s.worker.info.Plain {
		if name == first {
			skip++
		}
	}
	which := counters.Launches{Kernel: emit.CUDA.Symbol(first), Skip: skip}
	list, err := counters.Watch(which, func(command []string) error {
		h := &caseWorker{ctx: s.ctx, opening: s.worker.opening, under: command}
		defer h.close() // the profiler writes down what it has counted
		if err := h.start(); err != nil {
			return err
		}
		_, err := h.try(attempt{Plan: r.Plan, Code: s.code[r.Plan], Rule: rule{Batches: 1}})
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &list[0].Counters
	c.Excess = c.DRAMBytes / (s.worker.info.Points * s.worker.info.Bytes)
	c.Limit = c.Nearest()
	return c, nil
}
