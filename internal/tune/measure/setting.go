package measure

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// Setting describes the memory of a program.
type Setting struct {
	Name  string // tells settings apart
	Grids []Grid
	Cells []Cell // of reduced scalars
}

// Grid is the memory of one grid.
type Grid struct {
	Name  string
	Type  types.Type
	Shape []int
}

// Count returns the number of cells.
func (g *Grid) Count() int64 {
	n := int64(1)
	for _, k := range g.Shape {
		n *= int64(k)
	}
	return n
}

// Cell is the memory of a reduced scalar.
type Cell struct {
	Name string
	Type types.Type
}

// Start returns the value of a cell before a call runs.
func (c Cell) Start() op.Value {
	if c.Type.IsFloat() {
		return op.Float(c.Type, 0.5)
	}
	return op.Int(c.Type, 1)
}

// Use says which grids a call reads and writes, and which scalars it reduces into.
type Use struct {
	Reads, Writes []bool // by grid
	Drops         []bool // likewise, if not nil: what it writes there, or does not, is of no use
	Reduces       []int  // cells
}

// NewSetting returns the memory of a program with its sizes.
func NewSetting(name string, b *ir.Binding) Setting {
	s := Setting{Name: name}
	for _, g := range b.Program.Grids {
		s.Grids = append(s.Grids, Grid{g.Name, g.Type, b.Shape(g.Dims)})
	}
	for _, x := range b.Program.Scalars {
		if x.Reduced {
			s.Cells = append(s.Cells, Cell{x.Name, x.Type})
		}
	}
	return s
}

// UseOf returns how a call uses the memory of its program.
func UseOf(p *ir.Program, call *ir.Call) Use {
	u := Use{Reads: make([]bool, len(p.Grids)), Writes: make([]bool, len(p.Grids))}
	for _, a := range call.Arrays {
		if i := slices.Index(p.Grids, a.Grid); i >= 0 {
			u.Reads[i] = u.Reads[i] || a.Read
			u.Writes[i] = u.Writes[i] || a.Written
		}
	}
	cell := 0
	for _, x := range p.Scalars {
		if !x.Reduced {
			continue
		}
		if slices.ContainsFunc(call.Body, func(s *ir.Stmt) bool { return s.Reduce != nil && s.Reduce.Scalar == x }) {
			u.Reduces = append(u.Reduces, cell)
		}
		cell++
	}
	return u
}

// Code is a compiled call, or compiled iterations of a loop.
type Code struct {
	Name     string // what it is called in messages
	Image    string // path
	Use      Use
	Rows     []device.Rows // by grid, then by spare, where it is padded
	Phases   []int64       // by grid, then by spare, as exec.Array has them
	Spares   []int         // memory besides the grids': the grid that each is like; the first follows the last grid
	Holds    []int         // by grid: in whose memory its contents are at the end; nil if each has its own
	Scratch  []int64       // bytes of each buffer
	Kernels  []string
	Launches []exec.Launch
	// From and To are the launches that are timed; all run when it is checked.
	From, To int
	// Rounds is by how many a run of these is divided: its time is that of one. 0 is 1.
	Rounds int
}

// parts returns how many parts of equal time a run of the timed launches has.
func (c *Code) parts() float64 { return float64(max(1, c.Rounds)) }

// holder returns whose memory has the contents of a grid at the end.
func (c *Code) holder(grid int) int {
	if c.Holds == nil {
		return grid
	}
	return c.Holds[grid]
}
