package bench

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// awkwardSizes are those at which the best plan is compared with the reference
// executor: primes, axes of unlike lengths, a tile's length and little more.
var awkwardSizes = map[int][][]int64{
	2: {{11, 13}, {37, 131}, {70, 257}},
	3: {{11, 13, 17}, {19, 23, 37}, {10, 12, 131}, {37, 11, 66}},
}

// values returns what the plain kernels have written to cells of the first
// output.
func (s *caseRunner) values(cells []int64) ([]float64, error) {
	g := output(s.bound.Program)
	size := int64(g.Type.Size())
	var list []float64
	for _, c := range cells {
		var b [8]byte
		if err := s.want[g].Read(c*size, b[:size]); err != nil {
			return nil, err
		}
		list = append(list, device.Decode(g.Type, b[:]).AsFloat())
	}
	return list, nil
}

// strict compares the strict code of a plan bit for bit: with the plain kernels
// at full size, and with the reference at small ones, where the contracted code
// is compared, too. It returns the number of cells.
func (s *caseRunner) strict(plan string) (int64, error) {
	cells, err := s.strictLarge(plan)
	if err != nil {
		return cells, err
	}
	for _, sizes := range awkwardSizes[len(s.c.sizes)] {
		for _, a := range []arith.Mode{arith.Strict, arith.Contract} {
			e, err := expect(s.bound.Program.In(a), sizes)
			if err != nil {
				return cells, err
			}
			n, err := s.small(e, plan)
			if err != nil {
				return cells, fmt.Errorf("at %s: %w", e.sizes, err)
			}
			cells += n
		}
	}
	return cells, nil
}

// small compares a plan with the reference at a small size.
func (s *caseRunner) small(e *expectation, plan string) (int64, error) {
	a := e.bound.Program.Arithmetic
	m, _, err := modules(e.bound, plan, a)
	if err != nil {
		return 0, err
	}
	lib, _, err := s.load(emit.Source(emit.CUDA, m), a)
	if err != nil {
		return 0, err
	}
	n, err := s.compare(e, m, lib)
	return n, errors.Join(err, lib.Close())
}

// strictLarge compares strict code with strict plain code at full size.
func (s *caseRunner) strictLarge(plan string) (int64, error) {
	contracted := map[*ir.Grid]*cuda.Buffer{}
	scalars := s.scalars
	defer func() { // what contracted code is compared with comes back
		for g, buf := range contracted {
			s.want[g].Free()
			s.want[g] = buf
		}
		s.scalars = scalars
	}()
	for _, g := range outputs(s.bound.Program) {
		buf, err := s.alloc(s.want[g].Bytes())
		if err != nil {
			return 0, err
		}
		contracted[g], s.want[g] = s.want[g], buf
	}
	if err := s.expectLarge(arith.Strict); err != nil {
		return 0, err
	}
	m, _, err := modules(s.bound, plan, arith.Strict)
	if err != nil {
		return 0, err
	}
	lib, _, err := s.load(emit.Source(emit.CUDA, m), arith.Strict)
	if err != nil {
		return 0, err
	}
	p, err := s.set(m)
	if err == nil {
		err = s.step(p, m, lib)
	}
	if err = errors.Join(err, lib.Close()); err != nil {
		return 0, err
	}
	cells, _, err := s.verify(p)
	if err != nil {
		return cells, err
	}
	for _, q := range s.reduced() {
		v, err := p.scalar(q)
		if err != nil {
			return cells, err
		}
		if want := s.scalars[q]; !v.Same(want) {
			return cells, &Mismatch{gridText(s.bound, output(s.bound.Program)), arith.Strict.String(), q.Name,
				v.AsFloat(), want.AsFloat(), 0}
		}
	}
	return cells, nil
}

// expectLarge computes with the plain kernels what a step makes of the grids.
func (s *caseRunner) expectLarge(a arith.Mode) error {
	m, _, err := modules(s.bound, plainPlan, a)
	if err != nil {
		return err
	}
	lib, _, err := s.load(emit.Source(emit.CUDA, m), a)
	if err != nil {
		return err
	}
	s.note(m)
	large, err := s.set(m)
	if err != nil {
		return err
	}
	if err := s.step(large, m, lib); err != nil {
		return err
	}
	for _, g := range outputs(s.bound.Program) {
		if err := large.copyTo(g, s.want[g]); err != nil {
			return err
		}
	}
	s.scalars = map[*ir.Scalar]op.Value{}
	for _, q := range s.reduced() {
		if s.scalars[q], err = large.scalar(q); err != nil {
			return err
		}
	}
	return errors.Join(s.dev.Sync(), lib.Close())
}
