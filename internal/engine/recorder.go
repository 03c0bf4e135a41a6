package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// recorder keeps the trials of a search in the store. It implements tuner.Log.
type recorder struct {
	ctx     context.Context
	store   store.Store
	about   session.Scenario
	session store.Recorder
	known   *store.Knowledge // nil if all is to be measured anew
	failed  error            // the first event that could not be kept
}

// scenario says what measurements of a program depend on.
func scenario(b *ir.Binding, a measure.About) session.Scenario {
	p := b.Program
	text := canonical(p)
	s := session.Scenario{
		Program:  session.Program{Hash: Digest([]byte(text)), Name: p.Name, IR: text, Features: features(b)},
		Device:   a.Device,
		Compiler: session.Compiler{Name: a.Target.Dialect.Name, Version: a.Compiler, Options: a.Options},
		Host:     measure.Host(),
		Sizes:    sizesOf(b),
		FP:       a.Arithmetic,
	}
	var types []string
	for _, g := range p.Grids {
		if !slices.Contains(types, g.Type.Word()) {
			types = append(types, g.Type.Word())
		}
	}
	s.DType = strings.Join(types, ",")
	return s
}

// features are those of the call that takes most of the work.
func features(b *ir.Binding) session.Features {
	f := session.Features{Rank: len(b.Program.Axes)}
	most := -1.0
	for _, call := range analysis.Analyze(b.Program, b).Calls {
		if work := float64(call.Points) * (1 + call.Ops.Flops()); work > most {
			most = work
			f.Radius, f.Points, f.Arrays = int(call.Shape.Order), call.Shape.Points, len(call.Arrays)
			f.Flops = int(call.Ops.Flops())
		}
	}
	return f
}

// stopwatch tells how long a session was searching, the pauses between its
// runs left out.
type stopwatch struct {
	runs   []session.Run
	run    int
	before time.Duration // of earlier runs
	last   time.Time     // trial
}

// at returns the seconds of searching before a trial ended. Trials come in
// their order.
func (w *stopwatch) at(t *session.Trial) float64 {
	if len(w.runs) == 0 {
		return 0
	}
	for w.run+1 < len(w.runs) && t.Index >= w.runs[w.run+1].Trial {
		if !w.last.IsZero() {
			w.before += w.last.Sub(w.runs[w.run].Started)
		}
		w.run++
		w.last = time.Time{}
	}
	w.last = t.At
	return max(0, (w.before + t.At.Sub(w.runs[w.run].Started)).Seconds())
}

// began returns the configurations that a search began from.
func began(space session.Space) ([]schedule.Config, error) {
	var list []schedule.Config
	for _, text := range space.Begin {
		c, err := schedule.ParseConfig(text)
		if err != nil {
			return nil, fmt.Errorf("the session's space cannot be read: %w", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// neighbours are how many similar programs a search begins from.
const neighbours = 4

// fromOlder is how many configurations of each kernel a search begins from that
// other versions have found at its sizes.
const fromOlder = 4

// good returns the configurations that were best for the program under other
// versions, at other sizes, and for similar programs.
func good(ctx context.Context, s store.Store, about session.Scenario) ([]schedule.Config, error) {
	others, err := store.BestOfSizes(ctx, s, about, "")
	if err != nil {
		return nil, err
	}
	var list []schedule.Config
	known := func(r store.Record) bool { return r.Session.IsCurrent() && r.Session.Sizes.Equal(about.Sizes) }
	if !slices.ContainsFunc(others, known) {
		older, err := store.Older(ctx, s, about)
		if err != nil {
			return nil, err
		}
		list = leaders(older, fromOlder)
	}
	similar, err := store.Similar(ctx, s, about, neighbours)
	if err != nil {
		return nil, err
	}
	for _, r := range others {
		list = append(list, configsOf(&r.Trial)...)
	}
	for _, r := range similar {
		list = append(list, configsOf(&r.Trial)...)
	}
	return list, nil
}

// leaders returns the fastest n configurations of each kernel, those of whole
// programs first, each once.
func leaders(k *store.Knowledge, n int) []schedule.Config {
	var right []store.Record
	for r := range k.All() {
		if r.Verdict == verdict.OK {
			right = append(right, r)
		}
	}
	slices.SortStableFunc(right, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Median, b.Median))
	})
	var list []schedule.Config
	seen := map[string]bool{}
	taken := map[string]int{}
	for _, r := range right {
		if taken[r.Kernel]++; taken[r.Kernel] > n {
			continue
		}
		for _, c := range configsOf(&r.Trial) {
			if text := c.String(); !seen[text] {
				seen[text], list = true, append(list, c)
			}
		}
	}
	return list
}

// configsOf returns the configurations that a trial was made with, one of each kernel;
// none of a text that has no meaning any more.
func configsOf(t *session.Trial) []schedule.Config {
	if t.Kernel != "" {
		c, err := schedule.ParseConfig(t.Config)
		if err != nil {
			return nil
		}
		return []schedule.Config{c}
	}
	p, err := schedule.ParsePlan(t.Config)
	if err != nil {
		return nil
	}
	var list []schedule.Config
	for _, k := range p.Kernels {
		list = append(list, k.Config)
	}
	return list
}

// microseconds is the nearest duration that the store keeps as it is.
func microseconds(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// Keep implements tuner.Log.
func (n *recorder) Keep(o tuner.Outcome) error {
	t := session.Trial{
		Kernel: o.Kernel, Config: o.Config, Code: o.Code, Verdict: o.Verdict, Note: o.Message, Reused: o.Known,
		Median: o.Seconds, Low: o.Low, High: o.High, Samples: o.Times,
		Resources: session.Resources{Registers: o.Registers, Spills: o.Spills, Shared: o.Shared, Blocks: o.Blocks},
		Condition: o.Condition,
		Error:     o.Difference,
		Compile:   microseconds(o.Compile),
		Measure:   max(0, microseconds(o.Cost)-microseconds(o.Compile)),
	}
	return n.session.Append(n.ctx, &t)
}

// Known implements tuner.Log.
func (n *recorder) Known(kernel, config string) (tuner.Outcome, bool) {
	if n.known == nil {
		return tuner.Outcome{}, false
	}
	r, ok := n.known.Get(kernel, config)
	if !ok {
		return tuner.Outcome{}, false
	}
	return tried(&r.Trial), true
}

// report keeps what happens besides trials. What cannot be kept is told at the end.
func (n *recorder) report(e tuner.Event) {
	x := session.Event{Kind: e.Kind, Kernel: e.Kernel, Space: e.Space, Share: e.Share, Seconds: e.Seconds, Text: e.Text}
	switch e.Kind {
	case tuner.EventStart, tuner.EventCheck, tuner.EventKernel, tuner.EventFinal, tuner.EventNote:
	case tuner.EventAdvice:
		x.Kind, x.Kernel, x.Config, x.Seconds = session.Profiled, e.Advice.Kernel, e.Advice.Config, e.Advice.Took
		if x.Text = e.Advice.Failed; e.Advice.Profile != nil {
			x.Text = string(e.Advice.Profile.Class)
		}
		if detail, err := json.Marshal(e.Advice); err == nil { // else the kernel is profiled once more
			x.Detail = detail
		}
	case tuner.EventCondemned:
		x.Kernel, x.Config, x.Text = e.Trial.Kernel, e.Trial.Config, e.Trial.Message
	default:
		return
	}
	if err := n.session.Report(n.ctx, &x); err != nil && n.failed == nil {
		n.failed = err
	}
}

// Condemn implements tuner.Log. Plans that earlier searches have come to at these
// sizes, under whatever versions, are wrong, too, if they have the configuration: run
// would take them.
func (n *recorder) Condemn(o tuner.Outcome) error {
	v := o.Verdict
	if err := n.session.Condemn(n.ctx, o.Kernel, o.Config, v, o.Message); err != nil || v != verdict.Wrong {
		return err
	}
	ctx := context.WithoutCancel(n.ctx)
	list, err := store.Plans(ctx, n.store, n.about)
	if err != nil {
		return err
	}
	older, err := store.OlderPlans(ctx, n.store, n.about)
	if err != nil {
		return err
	}
	for _, r := range slices.Concat(list, older) {
		if !r.Session.Sizes.Equal(n.about.Sizes) || !has(r.Config, o.Kernel, o.Config) {
			continue
		}
		t := session.Trial{Config: r.Config, Verdict: verdict.Wrong, Note: o.Kernel + " " + o.Config + ": " + o.Message}
		if err := n.session.Append(ctx, &t); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a plan has a kernel with a configuration.
func has(plan, kernel, config string) bool {
	p, err := schedule.ParsePlan(plan)
	return err == nil && slices.ContainsFunc(p.Kernels, func(k schedule.Kernel) bool {
		return k.ID() == kernel && k.Config.String() == config
	})
}

// tried is a trial of the store as the tuner has it.
func tried(t *session.Trial) tuner.Outcome {
	o := tuner.Outcome{
		Kernel: t.Kernel, Config: t.Config, Code: t.Code, Verdict: t.Verdict,
		Seconds: t.Median, Low: t.Low, High: t.High, Times: t.Samples, Difference: t.Error,
		Compile: t.Compile.Seconds(), Cost: (t.Compile + t.Measure).Seconds(), Known: t.Reused, Message: t.Note,
	}
	used := &t.Resources
	o.Resources = measure.Resources{
		Registers: used.Registers, Spills: used.Spills, Shared: used.Shared, Blocks: used.Blocks,
	}
	o.Condition = t.Condition
	return o
}

// finish keeps what the whole program takes with the plans that were timed at
// the end, and closes the session.
func (n *recorder) finish(r *tuner.Result) error {
	for _, c := range r.Contenders {
		if c.Name == "plain" {
			continue // it is not compiled as run compiles it
		}
		t := session.Trial{Config: c.Plan, Median: c.Seconds, Low: c.Interval[0], High: c.Interval[1], Samples: c.Times}
		if err := n.session.Append(n.ctx, &t); err != nil {
			return err
		}
	}
	word := "finished"
	if r.Interrupted {
		word = "interrupted"
	}
	return errors.Join(n.failed, n.session.Finish(n.ctx, word))
}
