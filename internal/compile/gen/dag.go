package gen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// MakeDAG returns the program of a seed whose statements are a graph, as those of real codes: 10 to 60 statements in
// several calls, over one to three axes, of different orders, that pass grids on to each other. Some grids are
// temporary, some are updated in place, and coefficients have fewer axes. The calls are outside of loops, or in one.
// The sets are sizes that simulations are short at; all grids have random contents when it starts, from -1 to 1, and
// stay within them.
func MakeDAG(seed uint64) (*Case, error) { return makeDAG(seed, false) }

// MakeAlike is MakeDAG with statements that compute the same at several cells: half of their factors are values that
// have been written before, moved along an axis.
func MakeAlike(seed uint64) (*Case, error) { return makeDAG(seed, true) }

func makeDAG(seed uint64, alike bool) (*Case, error) {
	return makeOf(seed, 1<<32, 0, func(d *dag) string {
		d.alike = alike
		return d.program()
	}, func(p *ir.Program) error {
		if n := statementsOf(p); n < 10 || len(p.Calls) < 2 {
			return fmt.Errorf("%d statements in %d calls are left", n, len(p.Calls))
		}
		return nil
	})
}

// makeOf returns the first program that is written for a seed, is right, and has what is wanted. Of a kind of programs
// the random numbers begin elsewhere than of others. Sizes are as small as the program allows, and grown so often at
// the least.
func makeOf(seed, kind uint64, grown int, write func(*dag) string, wanted func(*ir.Program) error) (*Case, error) {
	var last error
	for try := range uint64(attempts) {
		d := &dag{Rand: rand.New(rand.NewPCG(seed, kind+try))}
		source := write(d)
		p, diags := lang.Load(diag.NewSource(name(seed), source))
		if p == nil {
			last = fmt.Errorf("%s\n%s", first(diags), source)
			continue
		}
		if err := wanted(p); err != nil {
			last = fmt.Errorf("%w\n%s", err, source)
			continue
		}
		for n := grown; n < mostGrown; n++ {
			set := d.sizes(n)
			_, errs := p.Bind(set)
			if last = fmt.Errorf("%s\n%s", first(errs), source); errs == nil {
				return &Case{Seed: seed, Source: source, Program: p, Sets: []map[string]string{set}}, nil
			}
		}
	}
	return nil, fmt.Errorf("seed %d: after %d programs: %w", seed, attempts, last)
}

// mostGrown is how many sizes of a program are tried.
const mostGrown = 4

// statementsOf counts the statements of a program; what nothing reads is none.
func statementsOf(p *ir.Program) int {
	n := 0
	for _, c := range p.Calls {
		n += len(c.Body)
	}
	return n
}

// dag writes one such program.
type dag struct {
	*rand.Rand
	rank    int
	order   int    // the largest offset
	typ     string // of all grids
	wraps   string // the boundary of all grids; "" for none
	inputs  []string
	states  []string       // copied in and out
	made    []string       // others that have been assigned, the last one last
	lane    map[string]int // of states and what is made: calls of a lane have little to do with those of others
	lanes   int
	now     int            // the lane of the call that is written
	thin    map[string]int // coefficients, with the number of their axes
	text    strings.Builder
	formals map[string]bool // of the stencil that is written
	names   int
	alike   bool
	values  []*movedValue
}

// movedValue is a value of grids that is written at several cells.
type movedValue struct {
	format string // with a place for each of the reads
	grids  []string
	at     [][]int // offsets
}

var dagAxes, dagParams = []string{"k", "j", "i"}, []string{"L", "M", "N"}

func (d *dag) axes() []string   { return dagAxes[3-d.rank:] }
func (d *dag) params() []string { return dagParams[3-d.rank:] }

func (d *dag) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

func (d *dag) fresh(base string) string {
	d.names++
	return fmt.Sprintf("%s%d", base, d.names)
}

func (d *dag) program() string {
	d.rank = []int{1, 2, 2, 3, 3}[d.IntN(5)]
	d.order = 1 + d.IntN(5-d.rank)
	d.typ = []string{"double", "double", "float"}[d.IntN(3)]
	d.thin, d.lane, d.lanes = map[string]int{}, map[string]int{}, 1+d.IntN(3)
	if d.IntN(3) == 0 {
		d.wraps = []string{"clamp", "mirror", "constant(0.25)", "reflect"}[d.IntN(4)]
	}
	for range 1 + d.IntN(3) {
		d.inputs = append(d.inputs, d.fresh("u"))
	}
	for n := range max(d.lanes, 1+d.IntN(3)) {
		d.states = append(d.states, d.fresh("s"))
		d.lane[d.states[n]] = n % d.lanes
	}
	for range d.IntN(3) {
		if d.rank > 1 {
			d.thin[d.fresh("c")] = 1 + d.IntN(d.rank-1)
		}
	}
	var calls []string
	var stencils []string
	for left := 10 + d.IntN(51); left > 0; {
		n := min(left, 1+d.IntN(8))
		left -= n
		stencil, call := d.stencil(n)
		stencils, calls = append(stencils, stencil), append(calls, call)
	}
	d.line("parameter %s;", strings.Join(d.params(), ", "))
	d.line("iterator %s;", strings.Join(d.axes(), ", "))
	grids := slices.Concat(d.inputs, d.states, d.made)
	var declared []string
	for _, g := range grids {
		declared = append(declared, g+"["+strings.Join(d.params(), ",")+"]")
	}
	for _, c := range d.coefficients() {
		declared = append(declared, c+"["+strings.Join(d.params()[d.rank-d.thin[c]:], ",")+"]")
	}
	d.line("%s %s;", d.typ, strings.Join(declared, ", "))
	if d.wraps != "" {
		d.line("boundary %s : %s;", strings.Join(grids, ", "), d.wraps)
	}
	d.line("copyin %s;", strings.Join(slices.Concat(d.inputs, d.states, d.coefficients()), ", "))
	results := slices.Clone(d.states)
	for i, g := range d.made { // the others are temporary
		if i == len(d.made)-1 || d.IntN(4) == 0 {
			results = append(results, g)
		}
	}
	d.line("copyout %s;", strings.Join(results, ", "))
	for _, s := range stencils {
		d.text.WriteString(s)
	}
	if d.IntN(3) > 0 {
		d.line("%s", strings.Join(calls, "\n"))
		return d.text.String()
	}
	d.line("iterate %d {\n%s", 2+d.IntN(3), strings.Join(calls, "\n"))
	if len(d.states) > 1 && d.IntN(2) == 0 {
		d.line("swap (%s, %s);", d.states[0], d.states[1])
	}
	d.line("}")
	return d.text.String()
}

func (d *dag) coefficients() []string {
	var list []string
	for c := range d.thin {
		list = append(list, c)
	}
	slices.Sort(list)
	return list
}

// stencil writes a stencil of so many statements, and its call.
func (d *dag) stencil(statements int) (stencil, call string) {
	d.formals, d.now = map[string]bool{}, d.IntN(d.lanes)
	var lines []string
	var locals, own []string // scalar locals, and local grids that are assigned
	cell := d.access(0)
	for n := range statements {
		last := n == statements-1
		sum := func(without string) string { return d.sum(locals, own, without) }
		switch kind := d.IntN(8); {
		case kind < 2 && !last:
			t := d.fresh("t")
			lines = append(lines, fmt.Sprintf("  %s %s = %s;", d.typ, t, sum("")))
			locals = append(locals, t)
		case kind == 2 && !last:
			f := d.fresh("f")
			lines = append(lines, fmt.Sprintf("  %s %s[%s];", d.typ, f, strings.Join(d.params(), ",")),
				fmt.Sprintf("  %s%s = %s;", f, cell, sum("")))
			own = append(own, f)
		case kind < 5:
			s := d.one(d.states)
			if own := d.ofLane(d.made); d.IntN(3) == 0 && len(own) > 0 {
				s = own[d.IntN(len(own))]
			}
			d.formals[s] = true
			if d.IntN(2) == 0 {
				lines = append(lines, fmt.Sprintf("  %s%s = 0.5*%[1]s%[2]s + 0.5*(%[3]s);", s, cell, sum(s)))
			} else {
				lines = append(lines, fmt.Sprintf("  %s%s += -0.3*%[1]s%[2]s + 0.3*(%[3]s);", s, cell, sum(s)))
			}
		default:
			g := d.fresh("g")
			d.formals[g] = true
			lines = append(lines, fmt.Sprintf("  %s%s = %s;", g, cell, sum("")))
			d.made = append(d.made, g)
			d.lane[g] = d.now
		}
	}
	stencil, call = d.closed(d.fresh("step"), lines)
	if d.wraps == "" && d.IntN(2) == 0 {
		var ranges []string
		for _, p := range d.params() {
			ranges = append(ranges, fmt.Sprintf("%d:%s-%d", d.order+d.IntN(2), p, d.order+1+d.IntN(2)))
		}
		call = "[" + strings.Join(ranges, ", ") + "] : " + call
	}
	return stencil, call
}

// closed returns the stencil of some lines, whose formal arguments are the grids that they name, and its call.
func (d *dag) closed(name string, lines []string) (stencil, call string) {
	var formals []string
	for g := range d.formals {
		formals = append(formals, g)
	}
	slices.Sort(formals)
	list := strings.Join(formals, ", ")
	return fmt.Sprintf("stencil %s (%s) {\n%s\n}\n", name, list, strings.Join(lines, "\n")),
		fmt.Sprintf("%s (%s);", name, list)
}

// sum writes a sum of some terms whose coefficients add up to less than 1. It reads no other cells of the grid without.
func (d *dag) sum(locals, own []string, without string) string {
	terms := 1 + d.IntN(6)
	var text strings.Builder
	for n := range terms {
		if n > 0 || d.IntN(4) == 0 {
			text.WriteString([]string{" + ", " - "}[d.IntN(2)])
		}
		fmt.Fprintf(&text, "%.3f*%s", (0.3+0.6*d.Float64())/float64(terms), d.factor(locals, own, without))
	}
	return strings.TrimPrefix(strings.TrimSpace(text.String()), "+ ")
}

func (d *dag) factor(locals, own []string, without string) string {
	if d.alike && d.IntN(2) == 0 {
		return d.moved(without)
	}
	switch kind := d.IntN(9); {
	case kind == 0 && len(locals) > 0:
		return locals[d.IntN(len(locals))]
	case kind < 3 && len(own) > 0:
		return own[d.IntN(len(own))] + d.access(d.order)
	case kind == 3 && len(d.thin) > 0:
		c := d.coefficients()[d.IntN(len(d.thin))]
		d.formals[c] = true
		index := ""
		for _, axis := range d.axes()[d.rank-d.thin[c]:] {
			index += "[" + axis + "]"
		}
		return c + index + "*" + d.read(without)
	case kind == 4:
		return d.read(without) + "*" + d.read(without)
	case kind == 5:
		return "0.5*(" + d.read(without) + " - " + d.read(without) + ")"
	}
	return d.read(without)
}

// moved writes a value that was written before, or a new one, at another cell.
func (d *dag) moved(without string) string {
	if len(d.values) < 2 || d.IntN(4) == 0 {
		formats := []string{"(%s*%s)", "0.5*(%s - %s)", "sqrt(abs(%s))", "0.25*(%s + %s + %s)", "(0.5*%s*%s - 0.5*%s)",
			"(%s*(%s*%s))"}
		v := &movedValue{format: formats[d.IntN(len(formats))]}
		all := slices.Concat(d.inputs, d.states, d.made)
		for range strings.Count(v.format, "%s") {
			v.grids = append(v.grids, all[d.IntN(len(all))])
			v.at = append(v.at, d.offsets(1))
		}
		d.values = append(d.values, v)
	}
	v := d.values[len(d.values)-1-d.IntN(min(3, len(d.values)))]
	if slices.Contains(v.grids, without) {
		return d.read(without)
	}
	by := d.offsets(max(1, d.order-1))
	var reads []any
	for n, g := range v.grids {
		d.formals[g] = true
		at := slices.Clone(v.at[n])
		for axis := range at {
			at[axis] += by[axis]
		}
		reads = append(reads, g+d.index(at))
	}
	return fmt.Sprintf(v.format, reads...)
}

// read reads a grid that has contents, one that was assigned not long ago more often than others.
func (d *dag) read(without string) string {
	all := slices.Concat(d.inputs, d.states, d.made)
	if d.IntN(12) > 0 {
		all = slices.Concat(d.inputs, d.ofLane(d.states), d.ofLane(d.made))
	}
	g := all[len(all)-1-min(d.IntN(len(all)), d.IntN(len(all)))]
	d.formals[g] = true
	if g == without {
		return g + d.access(0)
	}
	return g + d.access(d.order)
}

// ofLane returns those of some grids that are of the lane of the call.
func (d *dag) ofLane(grids []string) []string {
	return slices.DeleteFunc(slices.Clone(grids), func(g string) bool { return d.lane[g] != d.now })
}

// one returns one of some grids, of the lane of the call, which has one.
func (d *dag) one(grids []string) string {
	own := d.ofLane(grids)
	return own[d.IntN(len(own))]
}

// access writes a place up to so many cells from the one that is computed, along one axis in most cases.
func (d *dag) access(most int) string {
	offsets := make([]int, d.rank)
	if most > 0 {
		offsets = d.offsets(most)
	}
	return d.index(offsets)
}

func (d *dag) offsets(most int) []int {
	offsets := make([]int, d.rank)
	for range 1 + d.IntN(5)/4 {
		offsets[d.IntN(d.rank)] = d.IntN(2*most+1) - most
	}
	return offsets
}

func (d *dag) index(offsets []int) string {
	text := ""
	for k, axis := range d.axes() {
		switch o := offsets[k]; {
		case o == 0:
			text += "[" + axis + "]"
		default:
			text += fmt.Sprintf("[%s%+d]", axis, o)
		}
	}
	return text
}

// sizes returns values of the parameters: some tiles and a remainder on most axes. Domains that others shrink need
// more.
func (d *dag) sizes(grown int) map[string]string {
	set := map[string]string{}
	for k, p := range d.params() {
		least := [][]int{{60}, {16, 25}, {8, 10, 12}}[d.rank-1][k]
		set[p] = fmt.Sprint(least + d.IntN(least) + 6*grown)
	}
	return set
}
