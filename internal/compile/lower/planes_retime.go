package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// With retime=yes the statements of a span are computed in parts, each when the plane has come that it reads last
// (transform.RetimeCall). A part is a stage of its own, whose values wait in registers. So a step reads one plane of
// what statements read, and no others are held.

// offerParts lets the family compute statements in parts, where some have any.
func offerParts(program *ir.Program, p *pipeline.Pipeline, f *schedule.Family) {
	if retimedProgram(program, p.Span) == nil {
		return
	}
	retime := retimeParam
	retime.Values, retime.Default = []schedule.Value{schedule.No, schedule.Yes}, schedule.No
	f.Params = slices.Insert(f.Params, f.Index(schedule.StreamUnroll), retime)
}

// retimedProgram returns the program with the calls of a span in parts; nil if none has any.
func retimedProgram(program *ir.Program, span *graph.Span) *ir.Program {
	meant := map[*ir.Call]bool{}
	for _, o := range span.Body() {
		if run, ok := o.(*ir.Run); ok {
			meant[run.Call] = true
		}
	}
	changed := false
	out, err := transform.Program(program, func(call *ir.Call) (*ir.Call, error) {
		if !meant[call] {
			return call, nil
		}
		taken := map[string]bool{}
		for _, a := range call.Arrays {
			taken[a.Name] = true
		}
		parts, err := transform.RetimeCall(program, call, transform.ShareOptions{
			May: func(*ir.Stmt) bool { return true }, Taken: taken,
		})
		if err != nil {
			return call, nil // it has none
		}
		changed = true
		return parts.Call, nil
	})
	if err != nil || !changed {
		return nil
	}
	return out
}

// retimedPipeline returns the span's pipeline with statements in parts.
func (s *spanKernel) retimedPipeline() (*pipeline.Pipeline, error) {
	was := s.pipeline.Span
	program := retimedProgram(s.Program, was)
	if program == nil {
		return s.pipeline, nil
	}
	if s.opts.Guard {
		if err := ir.Verify(program); err != nil {
			return nil, err
		}
	}
	l, ok := graph.LoopNamed(program, was.Loop.Name)
	if !ok {
		return nil, fmt.Errorf("plan for %s: the program in parts has no %s", s.key, was.Loop.Name)
	}
	l.Set = was.Loop.Set
	span, err := graph.NewSpan(program, l, was.Depth)
	if err != nil {
		return nil, err
	}
	return pipeline.New(span)
}
