package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// launchSize is what kernel.LaunchGeometry works out, over the kernel's
// scalars instead of their values.
type launchSize struct {
	blocks, threads [3]trips // blocks of the grid, or its clusters; threads of a block
	cluster         [3]int64 // blocks of a cluster; zeros if there are none
	shared          int64    // bytes of shared memory that the launch gives a block
	together        bool     // all blocks have to run at once
}

// trips is the number of a loop's iterations: so many cells by so many a step.
type trips struct {
	counter     string // "" if there is no loop
	cells, step kernel.Expr
}

func (t trips) expr() kernel.Expr {
	if isOne(t.step) {
		return t.cells
	}
	return kernel.CeilDiv(t.cells, t.step)
}

// sizeOf returns the size of a kernel's launch.
func sizeOf(k *kernel.Kernel) launchSize {
	one := trips{cells: kernel.I(1), step: kernel.I(1)}
	size := launchSize{
		blocks: [3]trips{one, one, one}, threads: [3]trips{one, one, one},
		cluster: clusterSize(k), shared: kernel.DynamicShared(k),
	}
	known := map[*kernel.Var]kernel.Expr{}
	inline := func(e kernel.Expr) kernel.Expr {
		return kernel.Rewrite(e, func(e kernel.Expr) kernel.Expr {
			if r, ok := e.(*kernel.Ref); ok && known[r.Var] != nil {
				return known[r.Var]
			}
			return e
		})
	}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Let:
			known[s.Var] = inline(s.Value)
		case *kernel.Barrier:
			size.together = size.together || s.Scope == kernel.GridScope
		case *kernel.FlagWait:
			size.together = true
		case *kernel.Loop:
			n := trips{
				counter: s.Var.Name,
				cells:   kernel.Conv(types.I64, kernel.Sub(inline(s.Hi), inline(s.Lo))),
				step:    kernel.Conv(types.I64, inline(s.Step)),
			}
			switch {
			case s.Tag.IsBlock():
				size.blocks[s.Tag-kernel.BlockX] = n
			case s.Tag.IsThread():
				size.threads[s.Tag-kernel.ThreadX] = n
			}
		}
	}, nil)
	return size
}

func isOne(e kernel.Expr) bool {
	n, ok := kernel.IntLit(e)
	return ok && n == 1
}

// grid returns the blocks of the grid, clusters counted by their blocks.
func (s launchSize) grid() (grid [3]kernel.Expr) {
	for i, n := range s.blocks {
		grid[i] = kernel.Mul(n.expr(), kernel.I(max(1, s.cluster[i])))
	}
	return grid
}

// sayLaunch prints what a launch of the kernel has to ask for, and what the
// kernel calls the numbers of its blocks and threads.
func (p *printer) sayLaunch(k *kernel.Kernel) {
	size := sizeOf(k)
	text := "Launch: " + p.sayTrips(size.blocks, "blocks")
	if c := size.cluster; c != [3]int64{} {
		text = "Launch: " + p.sayTrips(size.blocks, "clusters") +
			fmt.Sprintf(" of %d x %d x %d blocks", c[0], c[1], c[2])
	}
	text += " of " + p.sayTrips(size.threads, "threads")
	if size.shared > 0 && p.Threads != nil && p.Threads.pool != "" {
		text += fmt.Sprintf(", each block with %d bytes of shared memory", size.shared)
	}
	if size.together {
		text += ", all at once (a cooperative launch)"
	}
	p.comment(text + ".")
}

// sayTrips prints numbers of iterations and what counts them.
func (p *printer) sayTrips(list [3]trips, what string) string {
	last := 2
	for last > 0 && list[last].counter == "" {
		last--
	}
	var counts, counters []string
	for _, t := range list[:last+1] {
		cells, step := unceil(t.cells, t.step)
		text := p.quietly(cells, op.Mul.Prec())
		if !isOne(step) {
			text = "ceil(" + text + " / " + p.quietly(step, op.Mul.Prec()+1) + ")"
		}
		counts = append(counts, text)
		if t.counter != "" {
			counters = append(counters, t.counter)
		}
	}
	text := strings.Join(counts, " x ") + " " + what
	if counters != nil {
		text += " (" + strings.Join(counters, ", ") + ")"
	}
	return text
}

// unceil turns (n + step-1) / step back into n and step. Sizes are positive.
func unceil(n, step kernel.Expr) (kernel.Expr, kernel.Expr) {
	if d, ok := n.(*kernel.Binary); ok && d.Op == op.Div && isOne(step) {
		by, literal := kernel.IntLit(d.Y)
		if sum, ok := d.X.(*kernel.Binary); ok && literal && sum.Op == op.Add {
			if more, ok := kernel.IntLit(sum.Y); ok && more == by-1 {
				n, step = sum.X, d.Y
			}
		}
	}
	if m, ok := n.(*kernel.Binary); ok && m.Op == op.Max && isZero(m.Y) {
		n = m.X
	}
	return n, step
}

// quietly prints an expression for a comment, which calls no helpers.
func (p *printer) quietly(e kernel.Expr, prec int) string {
	helpers := p.helpers
	p.helpers = map[string]bool{}
	text := strings.NewReplacer("gl_max_i64", "max", "gl_min_i64", "min").Replace(p.operand(e, prec))
	p.helpers = helpers
	return text
}

func isZero(e kernel.Expr) bool {
	n, ok := kernel.IntLit(e)
	return ok && n == 0
}
