package cli

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/engine"
)

// persist runs f, and again under other plans if kernels fail that the user has
// not chosen: that cannot be compiled or launched, fault or hang. What was
// saved meanwhile is where it goes on from.
func (j *job) persist(f func() error) error {
	others := j.Alternatives()
	for {
		err := f()
		if err == nil || len(others) == 0 || j.ctx.Err() != nil || !engine.Blameful(err) {
			return err
		}
		j.Job.Plan, others = others[0], others[1:]
		j.Origin, j.Free = engine.Fallback, true
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
		j.note(fmt.Sprintf("%s; trying once more %s with --plan %s", text, from, j.Job.Plan))
	}
}
