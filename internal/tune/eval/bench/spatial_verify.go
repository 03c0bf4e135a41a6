package bench

import (
	"errors"
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// scalar reads the result of a reduction.
func (p *gridsOnGPU) scalar(q *ir.Scalar) (op.Value, error) {
	var b [8]byte
	err := p.cells[q].Read(0, b[:])
	return device.Decode(q.Type, b[:]), err
}

// compareThreads are those of the comparison's kernels.
const compareThreads = 65536

// verify compares every cell of what a step has written with what the plain
// kernels make of the same values, and returns the number of cells and the
// largest difference.
func (s *caseRunner) verify(p *gridsOnGPU) (int64, float64, error) {
	cells, most := int64(0), 0.0
	for _, g := range outputs(s.bound.Program) {
		r := p.layouts[g]
		values := append(int64s(r.count, r.n, r.pitch, r.lead), op.Float(g.Type, 0))
		if err := s.runTool("compare_"+g.Type.String(), compareThreads, []*cuda.Buffer{s.bad, p.grids[g], s.want[g]},
			values...); err != nil {
			return cells, most, err
		}
		data := make([]byte, s.bad.Bytes())
		if err := s.bad.Read(0, data); err != nil {
			return cells, most, err
		}
		found, apart := view[int64](data), view[float64](data)
		count, first := int64(0), int64(math.MaxInt64)
		for t := range compareThreads {
			count += found[3*t]
			if at := found[3*t+1]; at >= 0 {
				first = min(first, at)
			}
			most = max(most, apart[3*t+2])
		}
		if count > 0 {
			return cells, most, s.wrong(p, g, count, first)
		}
		cells += r.count * r.n
	}
	for _, q := range s.reduced() {
		v, err := p.scalar(q)
		if err != nil {
			return cells, most, err
		}
		if want := s.scalars[q]; !v.Same(want) {
			return cells, most, &Mismatch{gridText(s.bound, output(s.bound.Program)), arith.Contract.String(), q.Name,
				v.AsFloat(), want.AsFloat(), 0}
		}
	}
	return cells, most, nil
}

// wrong describes the first of the cells that differ.
func (s *caseRunner) wrong(p *gridsOnGPU, g *ir.Grid, count, first int64) error {
	r := p.layouts[g]
	size := int64(g.Type.Size())
	var got, want [8]byte
	if err := errors.Join(
		p.grids[g].Read((r.lead+first/r.n*r.pitch+first%r.n)*size, got[:size]),
		s.want[g].Read(first*size, want[:size])); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, the first of %d wrong cells,", cellName(g, s.bound.Shape(g.Dims), int(first)), count)
	return &Mismatch{gridText(s.bound, g), arith.Contract.String(), what,
		device.Decode(g.Type, got[:]).AsFloat(), device.Decode(g.Type, want[:]).AsFloat(), 0}
}
