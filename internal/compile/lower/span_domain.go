package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// theDomain is what has too little where a kernel needs more cells than an axis has.
const theDomain = "the domain"

// anyDomain names a family that carries out the span on a domain of any size, if one can.
func (s *spanKernel) anyDomain() string {
	f := familyNamed(overlapFamily)
	if f.target != s.opts.Target || f.carriesOut(s.pipeline, s.opts) != nil {
		return ""
	}
	return "family=" + f.name + " serves a domain of any size"
}

// serves notes which domains a span's kernel serves: the arrays that are as long as all others along each axis, and
// how many cells it needs there. A domain of a known size that has fewer is refused; one whose size is an argument is
// compared where the kernel is launched.
func (s *spanKernel) serves(dims []ir.Dim, least func(k int) int64) error {
	for k, axis := range s.axes {
		side := kernel.Side{Axis: s.Program.Axes[axis], Dim: dims[k], Least: max(1, least(k))}
		s.domain = append(s.domain, side)
		if !s.opts.Sized {
			continue
		}
		if have := side.Cells(s.opts.Bound.Params); have < side.Least {
			what := "cells along " + side.Axis + " for its boundaries"
			return &ResourceLimit{s.name, what, side.Least, have, theDomain}
		}
	}
	return nil
}

// tiled notes how many cells a block stores along each axis, 0 for all.
func (s *spanKernel) tiled(tile []int64) {
	if s.domain == nil {
		for _, axis := range s.axes {
			side := kernel.Side{Axis: s.Program.Axes[axis], Dim: *s.pipeline.Stages[0].Dim(axis), Least: 1}
			s.domain = append(s.domain, side)
		}
	}
	for k := range s.domain {
		s.domain[k].Tile = tile[k]
	}
}
