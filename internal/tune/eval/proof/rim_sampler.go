package proof

import (
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// Family pipe puts rims in place late where no iteration reads them early: few random programs are like that, and the
// fastest kernels are. One of seven pairs looks for such a program.

// rimTries bounds the programs that are drawn for one with late rims.
const rimTries = 600

// wantsRims reports whether the pair looks for a program whose rims are put in place late.
func (p *pair) wantsRims() bool {
	return p.spans && p.wish().lateRims
}

// firstTry returns the first of the pair's programs to try.
func (p *pair) firstTry(o gen.Options) uint64 {
	if !p.wantsRims() {
		return 0
	}
	for try := range uint64(rimTries) {
		if c, err := gen.Make(p.seed+try<<40, o); err == nil && hasLateRims(c.Program) {
			return try
		}
	}
	return 0
}

// hasLateRims reports whether a loop of the program has rims that family pipe puts in place late.
func hasLateRims(p *ir.Program) bool {
	for _, l := range graph.Loops(p) {
		s, err := graph.NewSpan(p, l, 3)
		if err != nil || len(s.Axes) < 3 {
			continue
		}
		if pl, err := pipeline.New(s); err == nil && lower.LateRims(pl) {
			return true
		}
	}
	return false
}
