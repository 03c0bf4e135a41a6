package fission

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Joint is calls that follow each other and become one, of a stencil with all their statements.
type Joint struct {
	Name  string
	Calls []*lang.CallStep
}

// String returns the joint in a line.
//
// Example text:
//
//	flux_update: flux, update
func (j *Joint) String() string {
	var calls []string
	for _, c := range j.Calls {
		calls = append(calls, c.Name.Name)
	}
	return j.Name + ": " + strings.Join(calls, ", ")
}

// MaxFuse joins all calls of a file that was checked that follow each other (Rawat et al. 2019, section VI-B). Calls on
// a domain of their own, and stencils with a schedule or storage that the user has fixed, stay as they are.
func MaxFuse(f *lang.File) []*Joint {
	names := f.Names()
	defs := definitions(f)
	var list []*Joint
	eachRun(f, func(calls []*lang.CallStep) {
		var run []*lang.CallStep
		end := func() {
			if len(run) > 1 {
				list = append(list, &Joint{unused(nameOf(run), names), run})
			}
			run = nil
		}
		for _, c := range calls {
			if !joins(c, defs[c.Name.Name]) {
				end()
				continue
			}
			if changes(run, defs, c) {
				end()
			}
			run = append(run, c)
		}
		end()
	})
	return list
}

// eachRun calls do for all calls of a file that follow each other, where there are several.
func eachRun(f *lang.File, do func([]*lang.CallStep)) {
	var visit func(steps []lang.Step)
	visit = func(steps []lang.Step) {
		var run []*lang.CallStep
		end := func() {
			if len(run) > 1 {
				do(run)
			}
			run = nil
		}
		for _, step := range steps {
			var body []lang.Step
			switch step := step.(type) {
			case *lang.CallStep:
				run = append(run, step)
				continue
			case *lang.IterateStep:
				body = step.Body
			case *lang.UntilStep:
				body = step.Body
			}
			end()
			visit(body)
		}
		end()
	}
	var steps []lang.Step
	for _, item := range f.Items {
		if step, ok := item.(lang.Step); ok {
			steps = append(steps, step)
		}
	}
	visit(steps)
}

// longest is how long names may become that are made of several.
const longest = 40

func nameOf(run []*lang.CallStep) string {
	var names []string
	for _, c := range run {
		if !slices.Contains(names, c.Name.Name) {
			names = append(names, c.Name.Name)
		}
	}
	if name := strings.Join(names, "_"); len(name) <= longest {
		return name
	}
	return "fused"
}

func definitions(f *lang.File) map[string]*lang.StencilDef {
	defs := map[string]*lang.StencilDef{}
	for _, item := range f.Items {
		if def, ok := item.(*lang.StencilDef); ok {
			defs[def.Name.Name] = def
		}
	}
	return defs
}

// joins reports whether a call may become part of another. It may not where the variable of a sum would hide what the
// call passes.
func joins(c *lang.CallStep, def *lang.StencilDef) bool {
	if c.Domain != nil || fixed(def) {
		return false
	}
	passed := map[string]bool{}
	for _, arg := range c.Args {
		lang.WalkNames(arg, func(id *lang.Ident) { passed[id.Name] = true })
	}
	may := true
	for _, st := range def.Body {
		for _, x := range expressions(st) {
			lang.WalkSums(x, func(s *lang.SumExpr) { may = may && !passed[s.Var.Name] })
		}
	}
	return may
}

// fixed reports whether the user has fixed the schedule of a stencil, or where it keeps something.
func fixed(def *lang.StencilDef) bool {
	return def.Pragma != nil || slices.ContainsFunc(def.Body, func(st lang.Stmt) bool {
		switch st.(type) {
		case *lang.Storage, *lang.AssignDirective:
			return true
		}
		return false
	})
}

// changes reports whether calls change a scalar in an expression that another call passes: it is evaluated before them
// if they become one.
func changes(calls []*lang.CallStep, defs map[string]*lang.StencilDef, later *lang.CallStep) bool {
	changed := map[string]bool{}
	for _, c := range calls {
		b := newBody(defs[c.Name.Name], nil)
		for _, st := range b.statements {
			if r, ok := st.Stmt.(*lang.Reduction); ok {
				changed[b.passed(c, r.Target.Name)] = true
			}
		}
	}
	found := false
	for _, arg := range later.Args {
		if _, plain := arg.(*lang.Ident); !plain {
			lang.WalkNames(arg, func(id *lang.Ident) { found = found || changed[id.Name] })
		}
	}
	return found
}
