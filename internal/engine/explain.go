package engine

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// TheoryRequest asks for hints that need no device.
type TheoryRequest struct {
	Facts  *analysis.Facts // of the program, on the target's machine
	Source *diag.Source
	Target *target.Target // on paper
}

// TheoryHints is what theory says of some calls that are alike.
type TheoryHints struct {
	Calls    []string       `json:"calls"`
	Class    profile.Class  `json:"class"` // in theory: by the roofline
	Evidence []string       `json:"evidence"`
	Hints    []profile.Hint `json:"hints"`
}

// InTheory returns hints by the rules of a profile that theory can tell, one entry for each class of calls: from the
// analysis and the description of a machine. All gains are predictions.
func InTheory(r TheoryRequest) []TheoryHints {
	gpu := r.Target.Kind() == lower.GPU
	split := versionsOf(r.Source, r.Target.Arithmetic)
	list := []TheoryHints{}
	seen := map[string]int{} // by what is said
	for _, call := range r.Facts.Calls {
		k := profile.InTheory(call, gpu)
		f := &profile.Facts{Kernel: k, Theory: true, File: r.Source.Name, GPU: gpu, Split: split}
		inform(f, r.Facts, call)
		x := TheoryHints{[]string{call.Name}, k.Class, k.Evidence, profile.Advise(f, r.check)}
		if x.Hints == nil {
			x.Hints = []profile.Hint{}
		}
		text := string(x.Class) + call.IR.Stencil
		for _, h := range x.Hints {
			text += h.Code + h.Change.Plan + h.Change.Edit
		}
		if i, ok := seen[text]; ok {
			list[i].Calls = append(list[i].Calls, call.Name)
			continue
		}
		seen[text] = len(list)
		list = append(list, x)
	}
	return list
}

// inform sets what rules need to know of a call of a program, beside what a profile, or theory, says of its kernel.
func inform(f *profile.Facts, facts *analysis.Facts, call *analysis.CallFacts) {
	p := facts.IR
	f.LoopIn, f.Loop = loopOf(p, call.Name), f.Loop || inLoop(p.Body, call.IR, false)
	f.Together = together(facts, call.Name)
	f.Products, f.Statements, f.Values = call.Products(), len(call.Statements), call.Loads
	if f.GPU {
		f.Fixed = lower.Fixed(p, call.IR)
	}
	for _, a := range call.Arrays {
		if a.Grid != "" {
			f.Grids = append(f.Grids, a.Grid)
		}
	}
}

// inLoop reports whether a call is carried out again and again.
func inLoop(body []ir.Op, call *ir.Call, loop bool) bool {
	return slices.ContainsFunc(body, func(o ir.Op) bool {
		switch o := o.(type) {
		case *ir.Run:
			return loop && o.Call == call
		case *ir.Iterate:
			return inLoop(o.Body, call, loop || !o.Sequence)
		}
		return false
	})
}

// together returns all statements of the iteration, or of the sequence, that a call is in, if several calls may share a
// kernel; nil if not.
func together(facts *analysis.Facts, call string) *profile.Together {
	p := facts.IR
	for _, l := range graph.Loops(p) {
		if !runs(l, call) || l.Assignments() < 2 {
			continue
		}
		t := &profile.Together{Kernel: schedule.Kernel{Call: l.Name, To: l.Leaves(), Depth: 1}.ID()}
		for _, o := range l.Iterate.Body {
			if run, ok := o.(*ir.Run); ok {
				t.Calls++
				t.Before += facts.Call(run.Call).Traffic.Compulsory
			}
		}
		var err error
		if t.After, err = pipeline.Bytes(p, l, 1); err != nil || t.Calls < 2 {
			return nil
		}
		return t
	}
	return nil
}

// runs reports whether a loop runs a call, or is what plans call by this name.
func runs(l graph.Loop, call string) bool {
	return l.Name == call || slices.ContainsFunc(l.Iterate.Body, func(o ir.Op) bool {
		run, ok := o.(*ir.Run)
		return ok && run.Call.Name == call
	})
}

// loopOf returns what plans call a kernel of whole iterations of the loop that a call, or a kernel of iterations, is
// of; "" if none can be.
func loopOf(p *ir.Program, call string) string {
	for _, l := range graph.Loops(p) {
		if !runs(l, call) || l.Iterate.Sequence {
			continue
		}
		if _, err := graph.NewSpan(p, l, 2); err == nil {
			return schedule.Kernel{Call: l.Name, To: l.Leaves(), Depth: 1}.ID()
		}
	}
	return ""
}

// versionsOf lists what gridloom fission makes of a source in a mode of arithmetic.
func versionsOf(src *diag.Source, mode arith.Mode) []string {
	return slices.DeleteFunc(fission.Names(), func(name string) bool {
		v, err := fission.Make(name, src, mode)
		return err != nil || v == nil
	})
}

// check tells whether a plan can be had on paper, and if not, whether it is the source that forbids it.
func (r *TheoryRequest) check(text string) (fits bool, forbidden string) {
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		return false, ""
	}
	if r.Facts.Binding == nil {
		return true, "" // kernels are for sizes; loops were seen to allow it
	}
	o := r.Target.Lowering(r.Facts.Binding, plan)
	if _, err = lower.Plan(r.Facts.IR, o); err == nil {
		return true, ""
	}
	o.Free = true
	if _, free := lower.Plan(r.Facts.IR, o); free == nil {
		return false, err.Error()
	}
	return false, ""
}
