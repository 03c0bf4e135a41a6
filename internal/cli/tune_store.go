package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// notebook keeps the trials of a search in the store. It implements tuner.Log.
type notebook struct {
	ctx     context.Context
	store   *store.Store
	about   store.Scenario
	session *store.Session
	known   *store.Knowledge // nil if all is to be measured anew
}

// scenario says what measurements of a program depend on.
func scenario(b *ir.Binding, a measure.About) store.Scenario {
	p := b.Program
	s := store.Scenario{
		Program:  store.Program{Hash: meaning(p), Name: p.Name, Features: features(b)},
		Compiler: store.Compiler{Name: a.Dialect.Name, Version: a.Compiler},
		FP:       a.Arithmetic,
	}
	s.Device.API, _, _ = strings.Cut(a.ID, ":")
	s.Device.Name, s.Device.Driver = a.Name, a.Driver
	var sizes, types []string
	for i, q := range p.Params {
		sizes = append(sizes, fmt.Sprintf("%s=%d", q.Name, b.Params[i]))
	}
	for _, g := range p.Grids {
		if !slices.Contains(types, g.Type.Word()) {
			types = append(types, g.Type.Word())
		}
	}
	s.Sizes, s.DType = strings.Join(sizes, ","), strings.Join(types, ",")
	return s
}

// features are those of the stage that takes most of the work.
func features(b *ir.Binding) store.Features {
	f := store.Features{Rank: len(b.Program.Axes)}
	most := -1.0
	for _, st := range analysis.Analyze(b.Program, b).Stages {
		if work := float64(st.Points) * (1 + st.Ops.Flops()); work > most {
			most = work
			f.Radius, f.Points, f.Arrays, f.Flops = int(st.Shape.Order), st.Shape.Points, len(st.Arrays), int(st.Ops.Flops())
		}
	}
	return f
}

// notebook begins a session, or takes up the one that --resume names; then it
// also returns what that had come to.
func (c *tuneCmd) notebook(a *app, s *store.Store, o *tuner.Options) (*notebook, []tuner.Outcome, error) {
	about := scenario(o.Bound, o.Lab.About())
	n := &notebook{ctx: a.ctx, store: s, about: about}
	if !c.Anew {
		var err error
		if n.known, err = s.Known(a.ctx, about); err != nil {
			return nil, nil, err
		}
	}
	search := store.Search{Scenario: about, Strategy: c.Strategy, Seed: c.seed(), Budget: c.budgetText(), Space: c.spaceText(), Commit: revision()}
	if c.Resume == "" {
		var err error
		if o.Good, err = good(a, s, about); err != nil {
			return nil, nil, err
		}
		search.Space += beginning(o.Good)
		n.session, err = s.Begin(a.ctx, search)
		return n, nil, err
	}
	info, err := c.earlier(a, s, search)
	if err != nil {
		return nil, nil, err
	}
	if n.session, err = s.Resume(a.ctx, info.ID, revision()); err != nil {
		return nil, nil, err
	}
	o.Seed = info.Seed
	if o.Good, err = began(info.Space); err != nil {
		return nil, nil, err
	}
	o.Likely = likely(info.Budget, o.Lab.About())
	var list []tuner.Outcome
	watch := stopwatch{runs: info.Runs}
	for t, err := range s.Log(a.ctx, info.ID) {
		if err != nil {
			return nil, nil, err
		}
		at := watch.at(&t)
		if t.Kernel != "" && !t.Transient() {
			x := tried(&t)
			x.At = at
			list = append(list, x)
		}
	}
	return n, list, nil
}

// earlier finds the session to go on with, and checks that it is the same
// search.
func (c *tuneCmd) earlier(a *app, s *store.Store, now store.Search) (store.Info, error) {
	if c.Resume != "last" {
		info, err := s.Session(a.ctx, c.Resume)
		if err != nil {
			return info, err
		}
		if !info.IsCurrent() {
			return info, c.outdated(info)
		}
		if what := c.differs(info.Search, now); what != "" {
			return info, usage("--resume %s: that search had another %s", c.Resume, what).hintf("gridloom results sessions lists searches")
		}
		return info, nil
	}
	var last, older store.Info
	for info, err := range s.Sessions(a.ctx, store.Filter{Program: now.Program.Hash}) {
		if err != nil {
			return last, err
		}
		switch {
		case c.differs(info.Search, now) != "":
		case info.IsCurrent():
			last = info
		default:
			older = info
		}
	}
	if last.ID == "" && older.ID != "" {
		return last, c.outdated(older)
	}
	if last.ID == "" {
		return last, usage("--resume last: there is no search of this program on this device with this strategy, seed and space").hintf("gridloom results sessions lists searches")
	}
	return last, nil
}

// outdated refuses to go on with a search of other versions.
func (c *tuneCmd) outdated(i store.Info) error {
	return usage("--resume %s: search %s was made under %s, and this Gridloom has %s: their times cannot be compared",
		c.Resume, i.ID, i.Definitions(), store.Current().Definitions()).
		hintf("without --resume a new search begins from the best that it found")
}

// differs names what two searches do not have in common; "" if one is the
// other. A seed that is not given is that of the search to go on with.
func (c *tuneCmd) differs(a, b store.Search) string {
	for _, x := range []struct {
		what string
		same bool
	}{
		{"program", a.Program.Hash == b.Program.Hash}, {"sizes", a.Sizes == b.Sizes}, {"arithmetic", a.FP == b.FP},
		{"device", a.Device.API == b.Device.API && a.Device.Name == b.Device.Name}, {"strategy", a.Strategy == b.Strategy},
		{"seed", c.Seed == nil || a.Seed == b.Seed}, {"space", restrictionsOf(a.Space) == restrictionsOf(b.Space)},
	} {
		if !x.same {
			return x.what
		}
	}
	return ""
}

// stopwatch tells how long a session was searching, the pauses between its
// runs left out.
type stopwatch struct {
	runs   []store.Run
	run    int
	before time.Duration // of earlier runs
	last   time.Time     // trial
}

// at returns the seconds of searching before a trial ended. Trials come in
// their order.
func (w *stopwatch) at(t *store.Trial) float64 {
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

// The text of a session's space tells what restricts it and, after an arrow,
// what the search began from, so that it can go on as it would have.
const arrow = " <- "

func restrictionsOf(space string) string {
	text, _, _ := strings.Cut(space, arrow)
	return text
}

func beginning(list []schedule.Config) string {
	if len(list) == 0 {
		return ""
	}
	var texts []string
	for _, c := range list {
		texts = append(texts, c.String())
	}
	return arrow + strings.Join(texts, " ")
}

func began(space string) ([]schedule.Config, error) {
	_, texts, _ := strings.Cut(space, arrow)
	var list []schedule.Config
	for text := range strings.FieldsSeq(texts) {
		c, err := schedule.ParseConfig(text)
		if err != nil {
			return nil, fmt.Errorf("the session's space cannot be read: %w", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// likely returns how many trials a search with that budget has planned with.
func likely(budget string, about measure.About) int {
	var limit time.Duration
	trials := 0
	for part := range strings.SplitSeq(budget, ", ") {
		if d, err := time.ParseDuration(part); err == nil {
			limit = d
		}
		if number, _, ok := strings.Cut(part, " trial"); ok {
			trials, _ = strconv.Atoi(number)
		}
	}
	return tuner.Likely(about, limit, trials)
}

// neighbours are how many similar programs a search begins from.
const neighbours = 4

// fromOlder is how many configurations of each kernel a search begins from that
// other versions have found at its sizes.
const fromOlder = 4

// good returns the configurations that were best for the program under other
// versions, at other sizes, and for similar programs.
func good(a *app, s *store.Store, about store.Scenario) ([]schedule.Config, error) {
	others, err := s.BestOfSizes(a.ctx, about, "")
	if err != nil {
		return nil, err
	}
	var list []schedule.Config
	known := func(r store.Record) bool { return r.Session.IsCurrent() && r.Session.Sizes == about.Sizes }
	if !slices.ContainsFunc(others, known) {
		older, err := s.Older(a.ctx, about)
		if err != nil {
			return nil, err
		}
		list = leaders(older, fromOlder)
	}
	similar, err := s.Similar(a.ctx, about, neighbours)
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
		if r.Verdict == store.OK {
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
func configsOf(t *store.Trial) []schedule.Config {
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

func (c *tuneCmd) budgetText() string {
	var parts []string
	switch {
	case c.Budget > 0:
		parts = append(parts, c.Budget.String())
	case c.Trials == 0:
		parts = append(parts, usualBudget.String())
	}
	if c.Trials > 0 {
		parts = append(parts, count(c.Trials, "trial"))
	}
	if c.Target != "" {
		parts = append(parts, "until "+c.Target)
	}
	return strings.Join(parts, ", ")
}

// spaceText tells spaces apart by what restricts them.
func (c *tuneCmd) spaceText() string {
	list, err := c.restrictions()
	if err != nil {
		return ""
	}
	var parts []string
	for _, r := range list {
		word := r.Where[strings.LastIndexAny(r.Where, "- ")+1:] // limit or fix
		parts = append(parts, word+" "+r.Text)
	}
	if c.Free {
		parts = append(parts, "free")
	}
	if c.AnyIntegers {
		parts = append(parts, "any integers")
	}
	if c.Plan != "" {
		parts = append(parts, c.Plan)
	}
	return strings.Join(parts, "; ")
}

var verdictOf = map[string]store.Verdict{
	"": store.OK, "constraint": store.Constraint, "resources": store.TooMuch, "compiler": store.Compiling,
	"launch": store.Launch, "timeout": store.Timeout, "crash": store.Crash, "wrong": store.Wrong,
}

// microseconds is the nearest duration that the store keeps as it is.
func microseconds(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// Keep implements tuner.Log.
func (n *notebook) Keep(o tuner.Outcome) error {
	t := store.Trial{
		Kernel: o.Kernel, Config: o.Config, Verdict: verdictOf[o.Reason], Note: o.Message, Reused: o.Known,
		Median: o.Seconds, Low: o.Low, High: o.High, Samples: o.Times,
		Resources: store.Resources{Registers: o.Registers, Spills: o.Spills, Shared: o.Shared},
		Error:     o.Difference,
		Compile:   microseconds(o.Compile),
		Measure:   max(0, microseconds(o.Cost)-microseconds(o.Compile)),
	}
	return n.session.Append(n.ctx, &t)
}

// Known implements tuner.Log.
func (n *notebook) Known(kernel, config string) (tuner.Outcome, bool) {
	if n.known == nil {
		return tuner.Outcome{}, false
	}
	r, ok := n.known.Get(kernel, config)
	if !ok {
		return tuner.Outcome{}, false
	}
	return tried(&r.Trial), true
}

// Condemn implements tuner.Log. Plans that earlier searches have come to at these
// sizes, under whatever versions, are wrong, too, if they have the configuration: run
// would take them.
func (n *notebook) Condemn(o tuner.Outcome) error {
	v := verdictOf[o.Reason]
	if err := n.session.Condemn(n.ctx, o.Kernel, o.Config, v, o.Message); err != nil || v != store.Wrong {
		return err
	}
	ctx := context.WithoutCancel(n.ctx)
	list, err := n.store.Plans(ctx, n.about)
	if err != nil {
		return err
	}
	older, err := n.store.OlderPlans(ctx, n.about)
	if err != nil {
		return err
	}
	for _, r := range slices.Concat(list, older) {
		if r.Session.Sizes != n.about.Sizes || !has(r.Config, o.Kernel, o.Config) {
			continue
		}
		t := store.Trial{Config: r.Config, Verdict: store.Wrong, Note: o.Kernel + " " + o.Config + ": " + o.Message}
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
		return k.Name() == kernel && k.Config.String() == config
	})
}

// tried is a trial of the store as the tuner has it.
func tried(t *store.Trial) tuner.Outcome {
	o := tuner.Outcome{
		Kernel: t.Kernel, Config: t.Config, Verdict: tuner.Good, Seconds: t.Median, Low: t.Low, High: t.High, Times: t.Samples,
		Difference: t.Error, Compile: t.Compile.Seconds(), Cost: (t.Compile + t.Measure).Seconds(), Known: t.Reused, Message: t.Note,
	}
	o.Resources = measure.Resources{Registers: t.Resources.Registers, Spills: t.Resources.Spills, Shared: t.Resources.Shared}
	for reason, v := range verdictOf {
		if v == t.Verdict {
			o.Reason = reason
		}
	}
	switch o.Reason {
	case "":
	case "wrong":
		o.Verdict = tuner.Wrong
	default:
		o.Verdict = tuner.Refused
	}
	return o
}

// finish keeps what the whole program takes with the plans that were timed at
// the end, and closes the session.
func (n *notebook) finish(r *tuner.Result) error {
	for _, c := range r.Contenders {
		if c.Name == "plain" {
			continue // it is not compiled as run compiles it
		}
		t := store.Trial{Config: c.Plan, Median: c.Seconds, Low: c.Interval[0], High: c.Interval[1], Samples: c.Times}
		if err := n.session.Append(n.ctx, &t); err != nil {
			return err
		}
	}
	word := "finished"
	if r.Interrupted {
		word = "interrupted"
	}
	return n.session.Finish(n.ctx, word)
}
