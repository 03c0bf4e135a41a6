package cli

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/refusal"
)

// persist runs f, and again under other plans if kernels fail that the user has
// not chosen: that cannot be compiled or launched, fault or hang. What was
// saved meanwhile is where it goes on from.
func (j *job) persist(f func() error) error {
	others := j.target.alternatives(j.bound)
	for {
		err := f()
		if err == nil || len(others) == 0 || j.ctx.Err() != nil || !blameful(err) {
			return err
		}
		j.target.plan, others = others[0], others[1:]
		j.target.free = true
		from := "from the start"
		switch {
		case j.state.saved:
			j.Resume = j.state.path
			from = "from " + j.state.path
		case j.Resume != "":
			from = "from " + j.Resume
		}
		for _, w := range j.outs {
			w.forget()
		}
		text, _ := split(err)
		j.note(fmt.Sprintf("%s; trying once more %s with --plan %s", text, from, j.target.plan))
	}
}

// blameful reports whether an error is the kernels' fault, which it is not if
// the machine could not just now: other kernels would fare no better.
func blameful(err error) bool {
	_, failed := errors.AsType[*exec.Failure](err)
	switch refusal.Of(err) {
	case refusal.None:
		return failed
	case refusal.Transient:
		return false
	}
	return true
}
