package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// remembered is what the store has on the plans of a program on a device at
// some sizes, the fastest first, all measured under the same versions.
type remembered struct {
	sizes    session.Sizes
	versions versions.Set
	cells    int64 // of the largest grid
	records  []store.Record
}

// remember groups the plans of a program by sizes, the smallest first.
func remember(p *ir.Program, list []store.Record) []remembered {
	var out []remembered
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].sizes.Equal(r.Session.Sizes) && out[n-1].versions == r.Session.Set {
			out[n-1].records = append(out[n-1].records, r)
			continue
		}
		if params, ok := paramsOf(p, r.Session.Sizes); ok {
			out = append(out, remembered{r.Session.Sizes, r.Session.Set, largestGrid(p, params), []store.Record{r}})
		}
	}
	slices.SortStableFunc(out, func(a, b remembered) int { return cmp.Compare(a.cells, b.cells) })
	return out
}

// paramsOf returns the parameters that sizes give a program; false if they are those of
// another.
func paramsOf(p *ir.Program, sizes session.Sizes) ([]int64, bool) {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.Name)
	}
	return sizes.Params(names)
}

// largestGrid returns the cells of a program's largest grid.
func largestGrid(p *ir.Program, params []int64) int64 {
	most := int64(0)
	for _, g := range p.Grids {
		cells := int64(1)
		for _, d := range g.Dims {
			cells *= d.Hi.Minus(d.Lo).Add(1).Eval(params)
		}
		most = max(most, cells)
	}
	return most
}

// apart is how far two numbers of cells are from each other on a logarithmic
// scale.
func apart(a, b int64) float64 {
	return math.Abs(math.Log(float64(max(a, 1)) / float64(max(b, 1))))
}

// farthest is how many times as many cells, or as few, the sizes may have whose
// plan a run takes: beyond, caches and threads matter in other ways.
const farthest = 64

// nearest puts the sizes first that are the program's, then those with the most
// similar number of cells, without those that are too far.
func nearest(list []remembered, b *ir.Binding) []remembered {
	sizes, cells := sizesOf(b), largestGrid(b.Program, b.Params)
	list = slices.DeleteFunc(slices.Clone(list), func(r remembered) bool {
		return !r.sizes.Equal(sizes) && apart(r.cells, cells) > math.Log(farthest)
	})
	slices.SortStableFunc(list, func(x, y remembered) int {
		if is, or := x.sizes.Equal(sizes), y.sizes.Equal(sizes); is || or {
			return cmp.Compare(btoi(or), btoi(is))
		}
		return cmp.Compare(apart(x.cells, cells), apart(y.cells, cells))
	})
	return list
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recollectionWait is how long a run waits for others that write to the store.
const recollectionWait = 2 * time.Second

// recollect gives a run the plan that the store knows to be the fastest of its
// program on its device, at its sizes or else at the nearest. Where there is none,
// one that was found under other versions is as right, though another may be faster
// by now. Whatever is wrong with the store, the run goes on without it.
func (j *job) recollect() {
	if j.NoStore || j.Origin == engine.Chosen || j.Job.Device.Reference() {
		return
	}
	current, older, err := j.plans()
	if err != nil {
		text, _ := split(err)
		j.note(fmt.Sprintf("the plan is not from the store: %s", text))
		return
	}
	for _, list := range [][]store.Record{current, older} {
		for _, r := range nearest(remember(j.program, list), j.Bound) {
			if slices.ContainsFunc(r.records, j.take) {
				return
			}
		}
	}
}

// take makes a plan of the store that of the run, if it fits.
func (j *job) take(r store.Record) bool {
	plan, err := schedule.ParsePlan(r.Config)
	if err != nil {
		return false
	}
	usual := j.Job
	j.Job.Plan = plan
	if j.Fits() != nil {
		j.Job = usual // it is of an older Gridloom, or needs --free
		return false
	}
	j.Origin = engine.Stored
	if !j.Quiet {
		when := ""
		if i := r.Session; !i.IsCurrent() {
			when = " under " + i.Definitions() + "; tune finds out what is fastest now"
		}
		fmt.Fprintf(j.stderr, "plan from the store: %s, tuned at %s%s\n", plan, r.Session.Sizes, when)
	}
	return true
}

// plans reads the plans of the program on the device: those that count now, and
// those of other versions. Without a store there are none.
func (j *job) plans() (current, older []store.Record, err error) {
	path, err := j.path()
	if err != nil {
		return nil, nil, nil // nobody has a folder for it
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	s, err := sqlite.Open(j.ctx, path, sqlite.Options{ReadOnly: true, Wait: recollectionWait})
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	about := scenario(j.Bound, about(j.Job.Device))
	if current, err = store.Plans(j.ctx, s, about); err == nil {
		older, err = store.OlderPlans(j.ctx, s, about)
	}
	return current, older, err
}

// about is what the store knows a device by.
func about(d *engine.Device) measure.About {
	return measure.About{ID: d.ID, Device: measure.DeviceOf(d.Target), Arithmetic: d.Arithmetic.String(), Dialect: d.Dialect}
}
