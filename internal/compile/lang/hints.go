package lang

import (
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

var storageHints = map[string]ir.Storage{"shmem": ir.Shared, "gmem": ir.Global, "no-shmem": ir.NotShared}

func (s *callBuilder) storage(st *Storage) {
	hint := storageHints[st.Word]
	for _, id := range st.Names {
		a := s.arrayNamed(id.Name)
		switch {
		case a == nil:
			if sym := s.env.lookup(id.Name); sym != nil {
				s.c.diags.Errorf(id.Span(), "%s names grids, and %q is %s", st.Word, id.Name, sym.kind())
			}
		case s.step == nil:
			s.c.diags.Errorf(id.Span(), "an initial block takes no storage hints")
		case a.Hint != ir.Anywhere && a.Hint != hint:
			s.c.diags.Errorf(id.Span(), "%q is to be held in two ways: %s and %s", id.Name, a.Hint, hint)
		default:
			a.Hint, a.HintRange = hint, id.Span()
		}
	}
}

// hints reads a #pragma.
func (c *checker) hints(p *Pragma) ir.Hints {
	h := ir.Hints{Stream: -1}
	if p == nil {
		return h
	}
	h.Range = p.Span()
	if p.Stream != nil {
		h.Stream = c.pragmaAxis(p.Stream)
	}
	if len(p.Block) > c.rank() {
		c.diags.Errorf(p.Block[c.rank()].Span(), "a block has at most one size for each of the iterators %s",
			c.axisNames())
	}
	for _, b := range p.Block {
		h.Block = append(h.Block, c.pragmaSize(b, "a block size"))
	}
	for _, u := range p.Unroll {
		axis := c.pragmaAxis(u.Axis)
		n := c.pragmaSize(u.Factor, "an unroll factor")
		if axis < 0 {
			continue
		}
		if h.Unroll == nil {
			h.Unroll = make([]int64, c.rank())
		}
		if h.Unroll[axis] != 0 {
			c.diags.Errorf(u.Span(), "%s is unrolled twice", u.Axis.Name)
		}
		h.Unroll[axis] = n
	}
	if p.Occupancy != nil {
		v, err := strconv.ParseFloat(realText(p.Occupancy.Text), 64)
		if err != nil || v <= 0 || v > 1 {
			c.diags.Errorf(p.Occupancy.Span(), "an occupancy is above 0 and at most 1")
		}
		h.Occupancy = v
	}
	return h
}

func (c *checker) pragmaAxis(id *Ident) int {
	if s, ok := c.globals[id.Name].(*iterSym); ok {
		return s.axis
	}
	d := c.diags.Errorf(id.Span(), "%q is not an iterator", id.Name)
	if near := diag.Nearest(id.Name, c.prog.Axes); near != "" {
		d.Hintf("did you mean %q?", near)
	} else {
		d.Hintf("the iterators are %s", c.axisNames())
	}
	return -1
}

func (c *checker) pragmaSize(x *NumberLit, what string) int64 {
	n, ok := c.intLit(x, false)
	if ok && (n < 1 || n > 1024) {
		c.diags.Errorf(x.Span(), "%s is from 1 to 1024", what)
	}
	return n
}
