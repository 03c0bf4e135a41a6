package search

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// hierarchical tunes parameters in levels (Rawat et al. 2019, section V). Parameters of high impact come first. A
// few of the fastest points go on to the next level, where further parameters are tuned around them. Within a
// level, points are in the order of a thread's work. More work needs more registers, so the cap on registers
// begins low, and is raised when a point spills, for that point and those after it.
type hierarchical struct {
	queue
	*moves
	levels  [][]int // coordinates
	level   int
	quota   int     // points of a level
	plan    []Point // of the level, not yet asked for
	open    map[string]bool
	results []Trial // of all levels so far
	caps    registerCaps
}

// registerCaps describes the parameter that caps registers.
type registerCaps struct {
	at     int   // the coordinate; -1 if the space has none
	values []int // numbers of the caps to go through, ascending
	now    int   // in values
}

const (
	keptPoints         = 4
	hierarchicalBudget = 300
	candidatesPerPoint = 4 // points that are considered for each that is chosen
)

// capsOfRegisters are the caps of section V.
var capsOfRegisters = []int64{32, 64, 128, 255}

// work lists the roles that tell how many cells a thread has, and how many
// statements the unrolled loop.
var work = []schedule.Role{schedule.Vector, schedule.BlockedUnroll, schedule.CyclicUnroll, schedule.Unroll}

// hierarchy is the usual one: shapes of blocks and unrolling; then how streams
// go and what they keep in shared memory; then the rest.
var hierarchy = [][]schedule.Role{
	{
		schedule.Choice, schedule.Threads, schedule.CacheBlock, schedule.Vector, schedule.BlockedUnroll,
		schedule.CyclicUnroll,
		schedule.Unroll,
	},
	{
		schedule.Stream, schedule.StreamLength, schedule.Staging, schedule.StagedPart,
		schedule.StagingCopy, schedule.CopyIssue,
		schedule.Prefetch, schedule.Pointwise, schedule.PersistentBlocks, schedule.BlockBarrier,
	},
}

const hierarchyArg = "levels of parameters, as in 'block vec rows > stages chunk > *'"

func newHierarchical(p Problem, arg string) (Strategy, error) {
	m := newHistory(p)
	h := &hierarchical{queue: queue{history: m}, moves: newMoves(p.Space), level: -1, open: map[string]bool{}}
	if strings.TrimSpace(arg) == "" {
		h.levels = usualHierarchy(m.params)
	} else {
		var err error
		if h.levels, err = parseHierarchy(arg, m.params); err != nil {
			return nil, err
		}
	}
	budget := p.Budget
	if budget <= 0 {
		budget = hierarchicalBudget
	}
	h.quota = max(budget/max(len(h.levels), 1), 1)
	h.caps = newRegisterCaps(m.params)
	return &methodStrategy{m, h}, nil
}

// usualHierarchy returns the levels of the usual roles, and last all others.
func usualHierarchy(params []Param) [][]int {
	taken := make([]bool, len(params))
	var levels [][]int
	add := func(level []int) {
		if level != nil {
			levels = append(levels, level)
		}
	}
	for _, roles := range hierarchy {
		var level []int
		for _, r := range roles {
			for i := range params {
				if params[i].Role == r && !taken[i] {
					taken[i] = true
					level = append(level, i)
				}
			}
		}
		add(level)
	}
	var rest []int
	for i := range params {
		if !taken[i] {
			rest = append(rest, i)
		}
	}
	add(rest)
	return levels
}

// parseHierarchy reads levels of parameters, which the user names. One that comes
// twice belongs to the first of its levels.
func parseHierarchy(text string, params []Param) ([][]int, error) {
	taken := make([]bool, len(params))
	var levels [][]int
	for part := range strings.SplitSeq(text, ">") {
		names := strings.Fields(part)
		if len(names) == 0 {
			return nil, fmt.Errorf("a level of %q names no parameter", text)
		}
		var level []int
		for _, name := range names {
			fits := false
			for i := range params {
				if !params[i].fits(name, params[i].Of) {
					continue
				}
				fits = true
				if !taken[i] {
					taken[i] = true
					level = append(level, i)
				}
			}
			if !fits {
				return nil, fmt.Errorf("no parameter is called %s", name)
			}
		}
		if level != nil {
			levels = append(levels, level)
		}
	}
	return levels, nil
}

func newRegisterCaps(params []Param) registerCaps {
	c := registerCaps{at: slices.IndexFunc(params,
		func(p Param) bool { return p.Role == schedule.RegisterLimit && p.number() })}
	if c.at < 0 {
		return c
	}
	for _, limit := range capsOfRegisters {
		if i := slices.IndexFunc(params[c.at].Values, schedule.Int(limit).Equal); i >= 0 {
			c.values = append(c.values, i)
		}
	}
	if c.values == nil {
		c.at = -1
	}
	return c
}

func (h *hierarchical) next() (Point, bool) {
	for {
		if p, ok := h.take(); ok {
			return p, true
		}
		if len(h.plan) > 0 {
			p := h.capped(h.plan[0])
			h.plan = h.plan[1:]
			if h.fresh(p) {
				h.open[p.Key()] = true
				return p, true
			}
			if t, ok := h.result(p); ok {
				h.results = append(h.results, t)
			}
			continue
		}
		if len(h.open) > 0 || !h.descend() {
			return nil, false
		}
	}
}

// capped returns a point of the plan with the cap on registers of the moment, if
// it can have it.
func (h *hierarchical) capped(p Point) Point {
	if !h.capping() || p[h.caps.at] == Absent {
		return p
	}
	first := h.caps.now
	if h.level > 0 {
		first = max(first, slices.Index(h.caps.values, p[h.caps.at])) // what it needed so far
	}
	// A cap that is illegal here leads to the next one.
	for _, v := range h.caps.values[first:] {
		if q, ok := h.fit(p, []change{{h.caps.at, v}}); ok {
			return q
		}
	}
	return p
}

// capping reports whether caps are chosen by what spills. Where a level lists
// the parameter, it is tuned like any other.
func (h *hierarchical) capping() bool {
	return h.caps.at >= 0 && !slices.Contains(h.levels[h.level], h.caps.at)
}

func (h *hierarchical) told(t Trial) {
	key := t.Point.Key()
	if !h.open[key] {
		return
	}
	delete(h.open, key)
	h.results = append(h.results, t)
	if !h.capping() || t.Spills == 0 {
		return
	}
	had := slices.Index(h.caps.values, t.Point[h.caps.at])
	if had < 0 || had+1 == len(h.caps.values) {
		return
	}
	// It spilled: it gets another chance, and those after it begin there.
	h.caps.now = max(h.caps.now, had+1)
	if q := h.capped(t.Point); h.add(q) {
		h.open[q.Key()] = true
	}
}

// descend makes the plan of the next level; false if there is none.
func (h *hierarchical) descend() bool {
	h.level++
	if h.level >= len(h.levels) {
		return false
	}
	h.caps.now = 0
	var from []Point
	for _, t := range h.fastest(keptPoints) {
		from = append(from, t.Point)
	}
	if from == nil {
		for _, list := range [][]Point{h.Good, h.Space.Starts()} {
			for _, p := range list {
				if len(from) < keptPoints && h.Space.Legal(p) {
					from = append(from, p)
				}
			}
		}
	}
	if from == nil {
		if p, ok := h.Space.Complete(slices.Repeat(Point{Free}, len(h.history.params))); ok {
			from = append(from, p)
		}
	}
	seen := map[string]bool{}
	add := func(p Point) {
		if key := p.Key(); !seen[key] {
			seen[key] = true
			h.plan = append(h.plan, p)
		}
	}
	for _, p := range from {
		add(p)
		for _, q := range h.variants(p, max(h.quota/len(from), 1)) {
			add(q)
		}
	}
	slices.SortStableFunc(h.plan, func(p, q Point) int { return h.unrolled(p) - h.unrolled(q) })
	return true
}

// fastest returns the n fastest results of the level, those with caps of their
// own apart.
func (h *hierarchical) fastest(n int) []Trial {
	good := slices.DeleteFunc(slices.Clone(h.results), func(t Trial) bool { return t.Verdict != verdict.OK })
	slices.SortStableFunc(good, bySeconds)
	var list []Trial
	for _, t := range good {
		same := slices.ContainsFunc(list, func(u Trial) bool {
			for i := range t.Point {
				if i != h.caps.at && t.Point[i] != u.Point[i] {
					return false
				}
			}
			return true
		})
		if !same && len(list) < n {
			list = append(list, t)
		}
	}
	return list
}

// variants returns up to n points that differ from p in the level's coordinates: all of them if they are few,
// and otherwise the best estimated of a random choice, mixed with random ones.
func (h *hierarchical) variants(p Point, n int) []Point {
	level := h.levels[h.level]
	count := 1
	for _, i := range level {
		count = min(count*len(h.history.params[i].Values), math.MaxInt32)
	}
	var list []Point
	seen := map[string]bool{p.Key(): true}
	add := func(set []change) {
		if q, ok := h.set(p, set); ok && !seen[q.Key()] && h.worthTrying(q) {
			seen[q.Key()] = true
			list = append(list, q)
		}
	}
	if count <= candidatesPerPoint*n {
		h.product(level, nil, add)
	} else {
		// Values that are drawn together are legal together.
		for range candidatesPerPoint * n {
			q := h.Space.Draw(h.rng)
			var set []change
			for _, i := range level {
				if q[i] >= 0 {
					set = append(set, change{i, q[i]})
				}
			}
			add(set)
		}
	}
	h.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if h.Estimate != nil {
		times := map[string]float64{}
		for _, q := range list {
			t, soon := h.Estimate(q)
			if !soon {
				t = deferredTime
			}
			times[q.Key()] = t
		}
		// Half are the best estimated; the others stay as they were shuffled.
		slices.SortStableFunc(list, func(a, b Point) int {
			return bySeconds(Trial{Seconds: times[a.Key()]}, Trial{Seconds: times[b.Key()]})
		})
		if len(list) > n {
			others := list[n/2:]
			h.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		}
	}
	return list[:min(n, len(list))]
}

// set changes several values at once, as far as they can exist beside each other.
func (h *hierarchical) set(p Point, set []change) (Point, bool) {
	q := slices.Clone(p)
	for _, c := range set {
		q[c.at] = c.to
	}
	q = h.shape(q)
	return h.fit(q, nil)
}

// product calls add for every combination of the coordinates' values.
func (h *hierarchical) product(level []int, set []change, add func([]change)) {
	if len(level) == 0 {
		add(set)
		return
	}
	for v := range h.history.params[level[0]].Values {
		h.product(level[1:], append(slices.Clone(set), change{level[0], v}), add)
	}
}

// unrolled returns the cells that a thread has at p.
func (h *hierarchical) unrolled(p Point) int {
	n := 1
	for i := range p {
		x := &h.history.params[i]
		if p[i] < 0 || !x.number() {
			continue
		}
		if slices.Contains(work, x.Role) {
			n *= int(max(x.Values[p[i]].Ints()[0], 1))
		}
	}
	return n
}

func (h *hierarchical) likely(n int) []Point {
	list := h.peek(n)
	for _, p := range h.plan {
		if q := h.capped(p); len(list) < n && h.fresh(q) &&
			!slices.ContainsFunc(list, func(o Point) bool { return slices.Equal(o, q) }) {
			list = append(list, q)
		}
	}
	return list
}
