package kernel

import (
	"errors"
	"fmt"
	"maps"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// Executions returns how often all threads of a launch together carry out some statements of a
// kernel, for the given arguments. It counts without running the kernel: of the other statements
// it follows only those that decide how often. A marked loop counts once an iteration.
//
// A value that a warp's lane shuffles to the others is taken to be the same in all lanes. What
// depends on memory cannot be counted, and is an error; what would take too long is ErrLong.
func Executions(k *Kernel, args map[*Var]op.Value, marked map[Stmt]bool) (int64, error) {
	each, err := ExecutionsOfEach(k, args, marked)
	total := int64(0)
	for _, n := range each {
		total += n
	}
	return total, err
}

// ExecutionsOfEach returns the same of each of the marked statements.
func ExecutionsOfEach(k *Kernel, args map[*Var]op.Value, marked map[Stmt]bool) (map[Stmt]int64, error) {
	return executions(k, args, marked, nil)
}

// Sample says how many blocks, how many threads of each axis of a block, and how many iterations of a loop stand
// for all of them; 0 is all. All iterations are counted of loops that change what decides.
type Sample struct{ Blocks, ThreadsX, Threads, Iterations int64 }

// SampledExecutions is ExecutionsOfEach with some blocks and threads, spread over all, that stand for the others.
func SampledExecutions(k *Kernel, args map[*Var]op.Value, marked map[Stmt]bool, s Sample) (map[Stmt]int64, error) {
	return executions(k, args, marked, &s)
}

func executions(k *Kernel, args map[*Var]op.Value, marked map[Stmt]bool, s *Sample) (map[Stmt]int64, error) {
	c := newCounter(args, marked)
	c.sample = s
	nodes, err := c.nodes(k)
	if err != nil {
		return nil, err
	}
	c.count(nodes, 1)
	if c.left < 0 {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, ErrLong)
	}
	return c.total, nil
}

func newCounter(args map[*Var]op.Value, marked map[Stmt]bool) *counter {
	c := &counter{marked: marked, decides: map[*Var]bool{}, follows: map[Stmt]bool{}, env: maps.Clone(args),
		total: map[Stmt]int64{}, left: mostCounted}
	if c.env == nil {
		c.env = map[*Var]op.Value{}
	}
	return c
}

// nodes returns what has to be carried out to count a kernel's executions.
func (c *counter) nodes(k *Kernel) ([]countNode, error) {
	for c.changed = true; c.changed; {
		c.changed = false
		c.find(k.Body)
	}
	if c.broken != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, c.broken)
	}
	for _, s := range k.Scalars {
		if _, known := c.env[s]; c.decides[s] && !known {
			return nil, fmt.Errorf("kernel %s: the argument %s is not given", k.Name, s.Name)
		}
	}
	return c.prune(k.Body), nil
}

// ErrLong is why a kernel's executions are not counted: too many conditions and loops decide.
var ErrLong = errors.New("to count how often its statements are carried out takes too long")

// mostCounted is how many values are worked out for a count at the most: that takes some seconds.
const mostCounted = 20_000_000

// counter counts executions.
type counter struct {
	marked  map[Stmt]bool
	decides map[*Var]bool // the variables that decide how often something is carried out
	follows map[Stmt]bool // the loops and conditions that have something marked, or that change such a variable
	changed bool
	broken  error
	env     map[*Var]op.Value
	total   map[Stmt]int64
	sample  *Sample
	left    int // values that may still be worked out
	// data are the variables that memory or another lane tells, where conditions on them are left open; nil elsewhere.
	data map[*Var]bool
}

// find notes what decides, and reports whether a list has something marked, or changes what decides.
func (c *counter) find(list []Stmt) bool {
	found := false
	for _, s := range list {
		found = found || c.marked[s]
		switch s := s.(type) {
		case *Let:
			c.define(s.Var, s.Value)
		case *Declare:
			c.define(s.Var, s.Init)
		case *Assign:
			c.define(s.Var, s.Value)
			found = found || c.decides[s.Var]
		case *Shuffle:
			if s.Kind == ShuffleFrom {
				c.define(s.Var, s.Value)
			} else {
				c.define(s.Var, nil)
			}
		case *LoadVector:
			for _, v := range s.Vars {
				c.define(v, nil)
			}
		case *Loop:
			if c.find(s.Body) || c.marked[s] {
				c.follow(s, s.Lo, s.Hi, s.Step)
				found = true
			}
		case *If:
			one, other := c.find(s.Then), c.find(s.Else)
			switch {
			case !one && !other:
				continue
			case c.open(s.Cond):
				c.follow(s)
			default:
				c.follow(s, s.Cond)
			}
			found = true
		}
	}
	return found
}

// follow notes a statement of which it matters how it goes.
func (c *counter) follow(s Stmt, on ...Expr) {
	c.changed = c.changed || !c.follows[s]
	c.follows[s] = true
	for _, e := range on {
		c.depend(e)
	}
}

// define notes what a variable depends on, if it decides.
func (c *counter) define(v *Var, value Expr) {
	switch {
	case !c.decides[v]:
	case value == nil:
		c.broken = fmt.Errorf("how often statements run depends on %s, which only the device knows", v.Name)
	default:
		c.depend(value)
	}
}

// depend notes that the variables of an expression decide.
func (c *counter) depend(e Expr) {
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			c.changed = c.changed || !c.decides[e.Var]
			c.decides[e.Var] = true
		case *Load:
			c.broken = fmt.Errorf("how often statements run depends on %s in memory", e.Buffer.Name)
		}
	})
}

// countNode is a statement that is followed, or marked ones in a row.
type countNode struct {
	marked []Stmt
	set    *Var // to value
	value  Expr
	loop   *Loop
	cond   Expr
	body   []countNode // of the loop or the condition
	other  []countNode
	// alike says that all iterations of the loop come to the same.
	alike bool
	// open says that the condition is not known: both sides are carried out.
	open bool
}

// prune leaves out all that does not matter.
func (c *counter) prune(list []Stmt) []countNode {
	var out []countNode
	for _, s := range list {
		n := countNode{}
		if c.marked[s] {
			n.marked = []Stmt{s}
		}
		switch s := s.(type) {
		case *Let:
			n.set, n.value = s.Var, s.Value
		case *Declare:
			n.set, n.value = s.Var, s.Init
		case *Assign:
			n.set, n.value = s.Var, s.Value
		case *Shuffle:
			n.set, n.value = s.Var, s.Value
		case *Loop:
			if !c.follows[s] {
				continue
			}
			n.loop, n.body, n.alike = s, c.prune(s.Body), !c.decides[s.Var] && !c.assigns(s.Body)
			if n.marked != nil {
				n.marked, n.body = nil, append(n.body, countNode{marked: n.marked})
			}
		case *If:
			if c.follows[s] {
				n.cond, n.body, n.other, n.open = s.Cond, c.prune(s.Then), c.prune(s.Else), c.open(s.Cond)
			}
		}
		if !c.decides[n.set] {
			n.set = nil
		}
		if plain := n.set == nil && n.loop == nil && n.cond == nil; plain {
			last := len(out) - 1
			switch {
			case n.marked == nil:
				continue
			case last >= 0 && out[last].marked != nil && out[last].set == nil:
				out[last].marked = append(out[last].marked, n.marked...)
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// assigns reports whether a list changes a variable that decides.
func (c *counter) assigns(list []Stmt) bool {
	found := false
	WalkStmts(list, func(s Stmt) {
		if s, ok := s.(*Assign); ok {
			found = found || c.decides[s.Var]
		}
	}, nil)
	return found
}

// count carries out what is left, which stands for so many times the same.
func (c *counter) count(list []countNode, times int64) {
	for i := range list {
		if c.left--; c.left < 0 {
			return
		}
		n := &list[i]
		for _, s := range n.marked {
			c.total[s] += times
		}
		switch {
		case n.set != nil:
			c.env[n.set] = Eval(n.value, c.env)
		case n.cond != nil:
			if Eval(n.cond, c.env).True() {
				c.count(n.body, times)
			} else {
				c.count(n.other, times)
			}
		case n.loop != nil:
			c.loop(n, times)
		}
	}
}

func (c *counter) loop(n *countNode, times int64) {
	lo, hi, step := Eval(n.loop.Lo, c.env), Eval(n.loop.Hi, c.env).I, Eval(n.loop.Step, c.env).I
	if lo.I >= hi {
		return
	}
	if n.alike {
		c.count(n.body, times*((hi-lo.I-1)/step+1))
		return
	}
	trips := (hi-lo.I-1)/step + 1
	samples := c.samples(n, trips)
	for i := range samples { // each stands for those from one bound to the next
		from, to := i*trips/samples, (i+1)*trips/samples
		at := from + (to-from)*(i*golden%1000)/1000
		if c.left < 0 {
			return
		}
		c.env[n.loop.Var] = op.Int(n.loop.Var.Type, lo.I+at*step)
		c.count(n.body, times*(to-from))
	}
}

// golden spreads numbers from 0 to 999, as the golden ratio does.
const golden = 618

// samples returns how many iterations of a loop are counted.
func (c *counter) samples(n *countNode, trips int64) int64 {
	most, tag := int64(0), n.loop.Tag
	switch {
	case c.sample == nil:
	case tag.IsBlock():
		most = c.sample.Blocks
	case tag == ThreadX:
		most = c.sample.ThreadsX
	case tag.IsThread():
		most = c.sample.Threads
	case !c.assigns(n.loop.Body):
		most = c.sample.Iterations
	}
	if most == 0 {
		return trips
	}
	return min(most, trips)
}
