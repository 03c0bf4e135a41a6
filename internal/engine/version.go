package engine

import (
	"errors"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Version is the version of a program that a plan names, which fission makes of its source (fission=trivial), with what
// the plan says of that. It computes the same, to the bit, or within what fast arithmetic promises.
type Version struct {
	Name    string // "" for the program as it is
	Source  *diag.Source
	Program *ir.Program // in the mode of arithmetic of the other
	Plan    schedule.Plan
}

// VersionOf returns the version that a plan is of.
func VersionOf(src *diag.Source, p *ir.Program, plan schedule.Plan) (*Version, error) {
	name, rest := plan.Fission()
	if name == "" {
		return &Version{"", src, p, plan}, nil
	}
	made, err := fission.Make(name, src, p.Arithmetic)
	if unknown, ok := errors.AsType[*fission.UnknownVersion](err); ok {
		return nil, requestf("plan", "%w", unknown)
	}
	if err != nil {
		return nil, err
	}
	if made == nil {
		what := "join or to split"
		if strings.HasPrefix(name, fission.CIREVersion) {
			what = "share"
		}
		return nil, requestf("plan", "fission=%s: there is nothing to %s in %s: leave it out", name, what, src.Name)
	}
	q, list := lang.Load(made.Source)
	if list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return &Version{name, made.Source, q.In(p.Arithmetic), rest}, nil
}
