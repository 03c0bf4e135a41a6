package contest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// DepthsOptions says which programs are tuned.
type DepthsOptions struct {
	Search
	Programs []*ir.Program     // in the arithmetic of the device
	Set      map[string]string // values of sizes and scalars; a program takes those that it has
	Large    bool              // sizes are such that the grids exceed the last cache
	Have     []DepthsRow       // of earlier calls: what this commit has measured is left out
	Each     func(DepthsRow) error
	// Ahead returns what is taken of a program before anything is measured; nil if nothing is. If Ahead is nil, none is
	// timed.
	Ahead func(ctx context.Context, b *ir.Binding, t *target.Target) (*TakenAhead, error)
}

// TakenAhead is what is taken of a program before anything is measured.
type TakenAhead struct {
	Single schedule.Plan // of kernels of single iterations
	Deep   schedule.Plan // with kernels of several where these are expected to be faster
	Usual  bool          // the usual plan, since the model knows nothing like the program
}

// DepthsRow is how many iterations share a kernel in the plan that tune finds for a program, and why not more.
type DepthsRow struct {
	Program    string `json:"program"`
	Sizes      string `json:"sizes"` // M=512 N=512
	DType      string `json:"dtype"`
	Loop       string `json:"loop,omitempty"` // as plans name it; empty if no loop runs
	Iterations int64  `json:"iterations,omitempty"`
	// Depth is the most iterations that a kernel of the best plan has. Fused says that it is 1, of a kernel for all
	// statements of an iteration.
	Depth int  `json:"depth"`
	Fused bool `json:"fused,omitempty"`
	// Gain is how many times as fast the best plan is as the best one of depth 1, in turn with it, with its 95 %
	// interval; 1 if they are the same.
	Gain      float64 `json:"gain"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	GStencils float64 `json:"gstencils"` // of the best plan
	// Bottleneck is what binds the kernels of that depth, or of the deepest one that ran, with the evidence.
	Bottleneck costmodel.Class `json:"bottleneck,omitempty"`
	Evidence   string          `json:"evidence,omitempty"`
	Stopped    string          `json:"stopped"` // why no other depth was tried, or what forbids one
	Tried      []DepthGain     `json:"tried,omitempty"`
	Plan       string          `json:"plan"`
	Single     string          `json:"single_plan"` // the best of depth 1
	Ahead      *AheadPlan      `json:"ahead,omitempty"`
	Budget     float64         `json:"budget_seconds,omitempty"`
	Seconds    float64         `json:"seconds"` // of the search
	Trials     int             `json:"trials"`
	Device     string          `json:"device"`
	Driver     string          `json:"driver"`
	Commit     string          `json:"commit"`
}

// AheadPlan is the plan that is taken before anything is measured, timed beside what the search has found.
type AheadPlan struct {
	Plan  string `json:"plan"`
	Depth int    `json:"depth"`
	// Usual says that it is the usual plan, since the model knows nothing like the program.
	Usual bool `json:"usual,omitempty"`
	// OfBest is its speed, as a part of that of the best plan, with its 95 % interval; 0 if it was not timed, for the
	// reason Failed.
	OfBest     float64 `json:"of_best"`
	OfBestLow  float64 `json:"of_best_low"`
	OfBestHigh float64 `json:"of_best_high"`
	// Single is that of the same plan without kernels of several iterations.
	Single float64 `json:"single_of_best"`
	Failed string  `json:"failed,omitempty"`
}

// DepthGain is what came of a depth in the search: how many times as fast an iteration is as by itself; 0 if
// nothing ran.
type DepthGain struct {
	Depth      int64           `json:"depth"`
	Gain       float64         `json:"gain"`
	Bottleneck costmodel.Class `json:"bottleneck,omitempty"`
}

// Key tells rows apart that measure different things.
func (r DepthsRow) Key() string { return strings.Join([]string{r.Program, r.Sizes, r.Device}, ", ") }

// Depths tunes the programs one after the other, as tune does where nothing is known.
func Depths(ctx context.Context, o DepthsOptions) ([]DepthsRow, error) {
	return bench.MeasureEach(ctx, o.Programs, o.Within, o.Log, func(p *ir.Program) string { return p.Name },
		func(p *ir.Program) (*DepthsRow, error) { return o.tune(ctx, p) }, func(r DepthsRow) error {
			fmt.Fprintf(o.Log, "  depth %s, %.2f times depth 1: %s\n", r.depthText(), r.Gain, r.Reason())
			return o.Each(r)
		})
}

// tune tunes a program; nil if this commit has done so.
func (o *DepthsOptions) tune(ctx context.Context, p *ir.Program) (*DepthsRow, error) {
	lab, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	about := lab.About()
	b, set, err := o.bind(p, about.CacheBytes)
	if err != nil {
		return nil, err
	}
	row := &DepthsRow{
		Program: p.Name, Sizes: sizesOf(b), DType: p.Grids[0].Type.Word(), Budget: o.Budget.Seconds(),
		Device: about.Name, Driver: about.Driver, Commit: o.Commit,
	}
	if slices.ContainsFunc(o.Have, func(r DepthsRow) bool {
		return r.Key() == row.Key() && o.stands(r.Commit, r.Budget)
	}) {
		return nil, nil
	}
	fmt.Fprintf(o.Log, "%s, %s\n", row.Program, row.Sizes)
	var ahead *TakenAhead
	if o.Ahead != nil {
		if ahead, err = o.Ahead(ctx, b, about.Target); err != nil {
			return nil, err
		}
	}
	r, err := o.run(ctx, lab, b, set, func(t *tuner.Options) {
		if ahead != nil {
			t.Others, t.OthersNeeded = []schedule.Plan{ahead.Single, ahead.Deep}, true
		}
	})
	if err != nil {
		return nil, err
	}
	row.Seconds, row.Trials = r.Seconds, r.Trials
	searched := withoutOthers(r)
	if err := row.read(searched); err != nil {
		return nil, err
	}
	if ahead != nil {
		row.Ahead = aheadOf(r, searched.Best, ahead)
	}
	return row, nil
}

// withoutOthers returns what a search has found by itself, also where a plan that was given beside is faster.
func withoutOthers(r *tuner.Result) *tuner.Result {
	own := *r
	own.Contenders = slices.DeleteFunc(slices.Clone(r.Contenders), func(c tuner.Contender) bool {
		return strings.HasPrefix(c.Name, "other ")
	})
	if !slices.ContainsFunc(own.Contenders, func(c tuner.Contender) bool { return c.Plan == own.Best }) {
		own.Best = ""
		if c := found(&own); c != nil {
			own.Best = c.Plan
		}
	}
	return &own
}

// aheadOf compares the plans that were taken ahead with the best that the search has found.
func aheadOf(r *tuner.Result, found string, taken *TakenAhead) *AheadPlan {
	of := func(plan string) *tuner.Contender {
		i := slices.IndexFunc(r.Contenders, func(c tuner.Contender) bool { return c.Plan == plan && c.Name != "plain" })
		if i < 0 || len(r.Contenders[i].Times) == 0 {
			return nil
		}
		return &r.Contenders[i]
	}
	deep := taken.Deep.String()
	a := &AheadPlan{Plan: deep, Depth: depthOf(deep), Usual: taken.Usual}
	best := of(found)
	if best == nil {
		a.Failed = "the search has found no plan to compare it with"
		return a
	}
	if c := of(deep); c != nil {
		ratio, interval := measure.Ratio(best.Times, c.Times)
		a.OfBest, a.OfBestLow, a.OfBestHigh = ratio, interval[0], interval[1]
	} else if i := slices.IndexFunc(r.LeftOut, func(l tuner.LeftOut) bool { return l.Plan == deep }); i >= 0 {
		a.Failed = r.LeftOut[i].Reason
	} else {
		a.Failed = "it was not timed"
	}
	if c := of(taken.Single.String()); c != nil {
		a.Single, _ = measure.Ratio(best.Times, c.Times)
	}
	return a
}

// bind gives a program the sizes that are wanted.
func (o *DepthsOptions) bind(p *ir.Program, cache int64) (*ir.Binding, map[string]string, error) {
	if len(p.Grids) == 0 {
		return nil, nil, errors.New("it has no grids")
	}
	set := map[string]string{}
	take := func(name string) {
		if text, ok := o.Set[name]; ok {
			set[name] = text
		}
	}
	for _, q := range p.Params {
		take(q.Name)
	}
	for _, s := range p.Scalars {
		take(s.Name)
	}
	b, list := p.Bind(set)
	if list.HasErrors() {
		return nil, nil, errors.New(list[0].Message)
	}
	if !o.Large {
		return b, set, nil
	}
	return enlarged(b, set, cmp.Or(cache, usualCache)*beyondCache)
}

// sizesOf lists the parameters that are sizes of grids.
func sizesOf(b *ir.Binding) string {
	var list []string
	for _, i := range extents(b.Program) {
		list = append(list, fmt.Sprintf("%s=%d", b.Program.Params[i].Name, b.Params[i]))
	}
	return strings.Join(list, " ")
}

// read fills in what the search has come to.
func (r *DepthsRow) read(t *tuner.Result) error {
	best := found(t)
	if best == nil || t.Best == "" {
		return errors.New("no plan gave kernels that work")
	}
	best = &t.Contenders[slices.IndexFunc(t.Contenders, func(c tuner.Contender) bool { return c.Plan == t.Best })]
	var single *tuner.Contender
	for i := range t.Contenders { // the fastest first
		if c := &t.Contenders[i]; c.Name != "plain" && !t.HasSpans(c) {
			single = c
			break
		}
	}
	r.Plan, r.Depth, r.GStencils = best.Plan, depthOf(best.Plan), best.GStencils
	r.Fused = r.Depth == 1 && t.HasSpans(best)
	r.Gain, r.Low, r.High = 1, 1, 1
	if single != nil {
		r.Single = single.Plan
		if single != best {
			ratio, interval := measure.Ratio(single.Times, best.Times)
			r.Gain, r.Low, r.High = ratio, interval[0], interval[1]
		}
	}
	r.loop(t.Loops)
	return nil
}

// depthOf returns the most iterations that a kernel of a plan has.
func depthOf(plan string) int {
	depth := 1
	p, err := schedule.ParsePlan(plan)
	if err != nil {
		return depth
	}
	for _, k := range p.Kernels {
		depth = max(depth, k.Depth)
	}
	return depth
}

// loop fills in what is known of the loop that has the deepest kernel, or else of the first one.
func (r *DepthsRow) loop(loops []tuner.LoopResult) {
	if len(loops) == 0 {
		r.Stopped = "no time loop runs"
		return
	}
	deepest := func(l tuner.LoopResult) bool {
		return slices.ContainsFunc(l.Depths, func(d tuner.DepthResult) bool {
			return d.InPlan && d.Depth == int64(r.Depth)
		})
	}
	l := &loops[max(0, slices.IndexFunc(loops, deepest))]
	r.Loop, r.Iterations, r.Stopped = l.Loop, l.Iterations, l.Stopped
	for _, d := range l.Depths {
		if d.Plain() {
			continue
		}
		r.Tried = append(r.Tried, DepthGain{d.Depth, d.Gain, d.Bottleneck})
		if d.Seconds > 0 && (d.Depth == int64(r.Depth) || r.Depth == 1 && !r.Fused) {
			r.Bottleneck, r.Evidence = d.Bottleneck, d.Evidence
		}
	}
}

// Reason says why the depth is what it is.
func (r *DepthsRow) Reason() string {
	tried := slices.ContainsFunc(r.Tried, func(d DepthGain) bool { return d.Gain > 0 })
	at := deep.DepthText(int64(r.deepest()), true) // of those that were tried, 1 is fused
	switch {
	case !tried:
		return r.Stopped
	case r.Bottleneck == "":
		return fmt.Sprintf("what binds depth %s is not known; %s", at, r.Stopped)
	}
	return fmt.Sprintf("%s at depth %s; %s", r.Bottleneck, at, r.Stopped)
}

// depthText is the depth, and whether it is that of a fused iteration.
func (r *DepthsRow) depthText() string { return deep.DepthText(int64(r.Depth), r.Fused) }

// deepest is the depth that the bottleneck is of.
func (r *DepthsRow) deepest() int {
	if r.Depth > 1 || r.Fused {
		return r.Depth
	}
	deepest := 1
	for _, d := range r.Tried {
		if d.Gain > 0 {
			deepest = int(d.Depth)
		}
	}
	return deepest
}

// ReadDepths returns the rows of a file; none if there is no file.
func ReadDepths(path string) ([]DepthsRow, error) {
	return bench.ReadRows[DepthsRow](path, "bench depths")
}

// MergeDepths puts a row among those that a file has, in the place of one that measured the same if there is one.
func MergeDepths(path string, row DepthsRow) error {
	return bench.MergeRows(path, "bench depths", []DepthsRow{row}, func(a, b DepthsRow) int {
		return strings.Compare(a.Key(), b.Key())
	})
}

// WriteDepths prints rows as a table in Markdown.
func WriteDepths(w io.Writer, rows []DepthsRow) {
	fmt.Fprintln(w, "| program | type | sizes | depth | gain over depth 1 | 95 % interval | "+
		"without a search, of the best | reason |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		interval := ""
		if r.Low != r.High {
			interval = fmt.Sprintf("%.2f to %.2f", r.Low, r.High)
		}
		ahead := "-"
		if a := r.Ahead; a != nil {
			ahead = fmt.Sprintf("%.2f, depth %d", a.OfBest, a.Depth)
			switch {
			case a.OfBest == 0:
				ahead = "not timed"
			case a.Usual:
				ahead += ", usual"
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.2f | %s | %s | %s |\n", r.Program, r.DType, r.Sizes, r.depthText(),
			r.Gain, interval, ahead, r.Reason())
	}
}
