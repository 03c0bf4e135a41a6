package engine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// StoredPlans is what a store has on the plans of a program on a device at some sizes, the
// fastest first, all measured under the same versions.
type StoredPlans struct {
	Sizes    session.Sizes
	Versions versions.Set
	Cells    int64 // of the largest grid
	Records  []store.Record
}

// groupBySizes groups the plans of a program by sizes, the smallest first.
func groupBySizes(p *ir.Program, list []store.Record) []StoredPlans {
	var out []StoredPlans
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].Sizes.Equal(r.Session.Sizes) && out[n-1].Versions == r.Session.Set {
			out[n-1].Records = append(out[n-1].Records, r)
			continue
		}
		if params, ok := paramsOf(p, r.Session.Sizes); ok {
			out = append(out, StoredPlans{r.Session.Sizes, r.Session.Set, largestGrid(p, params), []store.Record{r}})
		}
	}
	slices.SortStableFunc(out, func(a, b StoredPlans) int { return cmp.Compare(a.Cells, b.Cells) })
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
func nearest(list []StoredPlans, b *ir.Binding) []StoredPlans {
	sizes, cells := sizesOf(b), largestGrid(b.Program, b.Params)
	list = slices.DeleteFunc(slices.Clone(list), func(r StoredPlans) bool {
		return !r.Sizes.Equal(sizes) && apart(r.Cells, cells) > math.Log(farthest)
	})
	slices.SortStableFunc(list, func(x, y StoredPlans) int {
		switch first, second := x.Sizes.Equal(sizes), y.Sizes.Equal(sizes); {
		case first && !second:
			return -1
		case second && !first:
			return 1
		case first:
			return 0
		}
		return cmp.Compare(apart(x.Cells, cells), apart(y.Cells, cells))
	})
	return list
}

// lookUpWait is how long a run waits for others that write to the store.
const lookUpWait = 2 * time.Second

// LookUp gives a job the plan that the store in a file knows to be the fastest of its program
// on its device, at its sizes or else at the nearest, and returns the session that found it.
// Where there is none, one that was found under other versions is as right, though another may
// be faster by now. The session is nil if no plan fits, the user has chosen one, or there is no
// store.
func (j *Job) LookUp(ctx context.Context, path string) (*session.Session, error) {
	s, err := j.openStore(ctx, path)
	if s == nil || err != nil {
		return nil, err
	}
	defer s.Close()
	list, err := j.stored(ctx, s)
	for _, r := range list {
		same := r.Sizes.Equal(sizesOf(j.Bound))
		take := func(x store.Record) bool { return j.take(x, same) }
		if i := slices.IndexFunc(r.Records, take); i >= 0 {
			return r.Records[i].Session, nil
		}
	}
	return nil, err
}

// stored returns the plans of a job's program on its device, those at the nearest sizes first, and behind all of them
// those that were found under other versions.
func (j *Job) stored(ctx context.Context, s store.Store) ([]StoredPlans, error) {
	about := scenario(j.Bound, describe(j.Device))
	current, err := store.Plans(ctx, s, about)
	if err != nil {
		return nil, err
	}
	older, err := store.OlderPlans(ctx, s, about)
	if err != nil {
		return nil, err
	}
	return slices.Concat(nearest(groupBySizes(j.Bound.Program, current), j.Bound),
		nearest(groupBySizes(j.Bound.Program, older), j.Bound)), nil
}

// openStore opens the store in a file, to look up a plan for a job; nil if there is none, or if the job has its plan.
func (j *Job) openStore(ctx context.Context, path string) (store.Store, error) {
	if j.Origin == Chosen || j.Origin == Stored || j.Device.Reference() {
		return nil, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true, Wait: lookUpWait})
}

// LookUpVersion makes a job one of the version of its program (fission=trivial), with its plan, that the store in a
// file knows to be faster than the program as it is. Both have to be measured at the job's sizes, since times at others
// are not those of one program; where only the version was, it is taken. The version is nil if there is none.
func (j *Job) LookUpVersion(ctx context.Context, path string, src *diag.Source, set map[string]string) (*Version,
	*session.Session, error) {
	s, err := j.openStore(ctx, path)
	if s == nil || err != nil {
		return nil, nil, err
	}
	defer s.Close()
	own, err := j.storedHere(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	least := math.Inf(1)
	if len(own) > 0 {
		least = own[0].Median
	}
	var version *Version
	var found *session.Session
	whole := *j
	for _, name := range fission.Names() {
		v, err := VersionOf(src, whole.Bound.Program, schedule.Plan{}.WithFission(name))
		if err != nil {
			continue // there is no such version
		}
		b, list := v.Program.Bind(set)
		if list.HasErrors() || !slices.Equal(b.Params, whole.Bound.Params) {
			continue
		}
		of := whole
		of.Bound, of.Whole, of.Version = b, whole.Bound, name
		plans, err := of.storedHere(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(plans, func(r store.Record) bool { return r.Median < least && of.take(r, true) })
		if i >= 0 {
			*j, version, found, least = of, v, plans[i].Session, plans[i].Median
		}
	}
	return version, found, nil
}

// storedHere returns the plans of a job's program at its sizes, the fastest first.
func (j *Job) storedHere(ctx context.Context, s store.Store) ([]store.Record, error) {
	list, err := store.Plans(ctx, s, scenario(j.Bound, describe(j.Device)))
	if err != nil {
		return nil, err
	}
	for _, r := range groupBySizes(j.Bound.Program, list) {
		if r.Sizes.Equal(sizesOf(j.Bound)) {
			return r.Records, nil
		}
	}
	return nil, nil
}

// take makes a plan of the store that of the job, if it fits: it may be of an older Gridloom,
// or one that the source excludes. Kernels of several iterations that do not fit are left out.
func (j *Job) take(r store.Record, measured bool) bool {
	plan, err := schedule.ParsePlan(r.Config)
	if err != nil {
		return false
	}
	stored := *j
	stored.Plan, stored.Origin = plan, Stored
	if stored.Left, err = stored.fitSpans(measured); err != nil {
		return false
	}
	*j = stored
	return true
}

// describe is what the store knows a device by that is not measured on.
func describe(d *Device) measure.About {
	return measure.About{
		ID: d.ID, Device: measure.DeviceOf(d.Target), Arithmetic: d.Arithmetic.String(), Target: d.Target,
	}
}
