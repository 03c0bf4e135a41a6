package bench

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/tune/counters"
)

// count has Nsight Compute run this program once more, on one case with one
// plan, and reads what it has counted in the plan's first launch.
func (s *sweep) count(r *SpatialRow) (*counters.Counters, error) {
	// The plain kernels come first, and may have the same name.
	first := r.Launched[0]
	skip := 0
	for _, name := range s.worker.info.Plain {
		if name == first {
			skip++
		}
	}
	args := []string{
		"bench", "spatial", "--device", fmt.Sprintf("cuda:%d", s.opts.Ordinal), "--case", r.Case, "--dtype", r.DType,
		"--plan", r.Plan, "--quick", "--batches", "5",
	}
	for _, q := range s.bound.Program.Params {
		if v, ok := s.opts.Set[q.Name]; ok {
			args = append(args, "--set", q.Name+"="+v)
		}
	}
	c, err := counters.Count(s.ctx, emit.CUDA.Symbol(first), skip, false, args)
	if err != nil {
		return nil, err
	}
	c.Excess = c.DRAMBytes / (s.worker.info.Points * s.worker.info.Bytes)
	c.Limit = c.Nearest()
	return c, nil
}
