package engine

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Parse parses and checks a program. A text without any is a mistake here, although the
// language has no objection. The program has no mode of arithmetic yet: ir.Program.In
// gives it one.
func Parse(src *diag.Source) (*ir.Program, diag.List) {
	p, list := lang.Load(src)
	if !list.HasErrors() && len(p.Grids) == 0 && len(p.Body) == 0 {
		list.Errorf(diag.Range{}, "there is no program here: nothing is declared, and nothing runs").
			Hintf("a program declares grids and calls stencils; docs/language.md shows how")
	}
	return p, list
}

// Bind gives a program its sizes and scalar values. An error is an *Unbound.
func Bind(p *ir.Program, set map[string]string) (*ir.Binding, error) {
	b, list := p.Bind(set)
	if list.HasErrors() {
		return nil, &Unbound{list}
	}
	return b, nil
}
