package search

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/search/spec"
)

// SpecError says what is wrong with a heuristic specification file.
type SpecError struct {
	Source *diag.Source
	List   diag.List
}

func (e *SpecError) Error() string {
	return strings.TrimSuffix(diag.Render(e.Source, e.List, diag.Style{}), "\n")
}

// NewHeuristic makes a strategy of a specification file. The argument sets
// options of it: "n=1,restricted=1". What is wrong with the file is a *SpecError.
func NewHeuristic(file, text, arg string, p Problem) (Strategy, error) {
	f, list := spec.Parse(diag.NewSource(file, text))
	if list.HasErrors() {
		return nil, &SpecError{f.Source, list}
	}
	options, err := heuristicOptions(f, arg)
	if err != nil {
		return nil, err
	}
	prog, list := checkHeuristic(f, p, options)
	if list.HasErrors() {
		return nil, &SpecError{f.Source, list}
	}
	m := newHistory(p)
	h := &heuristic{queue: queue{history: m}, moves: newMoves(p.Space), program: prog, pending: map[string]bool{}}
	next, stop := pull(h.run)
	h.pull = next
	a := &methodStrategy{m, h}
	runtime.AddCleanup(a, func(stop func()) { stop() }, stop) // a search may be dropped halfway
	return a, nil
}

// heuristicOptions returns a file's options as an argument sets them.
func heuristicOptions(f *spec.File, arg string) (map[string]float64, error) {
	options := map[string]float64{}
	for _, o := range f.Options {
		options[o.Name] = o.Value
	}
	if arg == "" {
		return options, nil
	}
	for part := range strings.SplitSeq(arg, ",") {
		name, text, _ := strings.Cut(part, "=")
		if _, ok := options[name]; !ok {
			if len(options) == 0 {
				return nil, fmt.Errorf("%s has no option %q; it has none at all", f.Source.Name, name)
			}
			return nil, fmt.Errorf("%s has no option %q; it has %s", f.Source.Name, name,
				strings.Join(slices.Sorted(maps.Keys(options)), ", "))
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("option %s of %s takes a number, not %q", name, f.Source.Name, text)
		}
		options[name] = x
	}
	return options, nil
}

// heuristic carries out a specification. Its statements run as a coroutine that
// yields the points to try, and nil while it waits for those under way.
type heuristic struct {
	queue
	*moves
	program *program
	pull    func() (Point, bool)
	pending map[string]bool // of the step
	found   int             // points that were yielded
	misses  int             // combinations of a step since then that made none
	idle    int             // combinations and statements of all steps since then
}

// maxIdle is how many combinations and statements in a row a file goes through
// without a new point. Then it has no more to say: a hundred thousand steps could
// look at maxMisses combinations each.
const maxIdle = 1_000_000

// over reports whether there is no use in going on, and counts what was done.
func (h *heuristic) over() bool {
	h.idle++
	return h.idle > maxIdle || h.history.ended()
}

func (h *heuristic) fill(n int) {
	for len(h.waiting) < n {
		p, ok := h.pull()
		if !ok || p == nil {
			return
		}
		h.add(p)
	}
}

func (h *heuristic) next() (Point, bool) {
	for {
		h.fill(1)
		if len(h.waiting) == 0 {
			return nil, false
		}
		if p, ok := h.take(); ok {
			return p, true
		}
	}
}

func (h *heuristic) told(t Trial) { delete(h.pending, t.Point.Key()) }

func (h *heuristic) likely(n int) []Point {
	h.fill(n)
	return h.peek(n)
}

// run carries out the file.
func (h *heuristic) run(yield func(Point) bool) {
	if h.empty || !h.block(h.program.body, nil, yield) && h.idle <= maxIdle || h.found > 0 {
		return
	}
	// A file that fits nothing here should not end a search with nothing.
	if base, ok := h.base(nil); ok && h.fresh(base) {
		yield(base)
	}
}

// fixed is a coordinate that stays as it is.
type fixed = change

func (h *heuristic) block(list []statement, scope []fixed, yield func(Point) bool) bool {
	for _, s := range list {
		if h.over() || !s.run(h, scope, yield) {
			return false
		}
	}
	return true
}

// base returns the best point so far within a scope; before there is one, that
// with which a user would begin. False if the scope has no points.
func (h *heuristic) base(scope []fixed) (Point, bool) {
	within := func(p Point) bool {
		return !slices.ContainsFunc(scope, func(f fixed) bool { return p[f.at] != f.to })
	}
	best := -1
	for i := range h.trials {
		t := &h.trials[i]
		if t.Verdict == verdict.OK && (best < 0 || t.Seconds < h.trials[best].Seconds) && within(t.Point) &&
			h.program.allows(t.Point) {
			best = i
		}
	}
	if best >= 0 {
		return h.trials[best].Point, true
	}
	for _, list := range [][]Point{h.Good, h.Space.Starts()} {
		for _, p := range list {
			if within(p) && h.Space.Legal(p) {
				return p, true
			}
		}
	}
	p := slices.Repeat(Point{Free}, len(h.history.params))
	for _, f := range scope {
		p[f.at] = f.to
	}
	return h.Space.Complete(p)
}

// wait yields nothing until the step's points have all been told.
func (h *heuristic) wait(yield func(Point) bool) bool {
	for len(h.pending) > 0 {
		if !yield(nil) {
			return false
		}
	}
	return true
}
