package gridio

import (
	"io"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// chunk is how many bytes of a file are held in memory beside the array; a
// multiple of the size of every cell.
const chunk = 1 << 16

// cells is a run of cells in a file.
type cells struct {
	dtype   dtype
	shape   []int
	fortran bool // the first index varies fastest, as in Fortran
}

// fill reads the cells from r into dst, as cells of type t in C order.
func (c cells) fill(r io.Reader, t types.Type, dst []byte, want Want) error {
	if c.dtype == dtypeOf(t) && t != types.Bool && !c.fortran {
		_, err := io.ReadFull(r, dst)
		return err
	}
	size := t.Size()
	total := len(dst) / size
	per := chunk / max(size, c.dtype.size)
	src := make([]byte, per*c.dtype.size)
	row := make([]byte, per*size)
	walk := newWalk(c.shape)
	for done := 0; done < total; {
		n := min(per, total-done)
		if _, err := io.ReadFull(r, src[:n*c.dtype.size]); err != nil {
			return err
		}
		out := row
		if !c.fortran {
			out = dst[done*size:]
		}
		if bad := c.dtype.convert(t, out, src[:n*c.dtype.size]); bad >= 0 {
			return c.misfit(t, done+bad, src[bad*c.dtype.size:], want)
		}
		if c.fortran {
			for i := range n {
				copy(dst[walk.at*size:(walk.at+1)*size], row[i*size:])
				walk.next()
			}
		}
		done += n
	}
	return nil
}

// store writes the cells of a in Fortran order.
func storeFortran(w io.Writer, a *Array) error {
	size := a.Type.Size()
	walk := newWalk(a.Shape)
	row := make([]byte, 0, chunk)
	for range a.Len() {
		row = append(row, a.Data[walk.at*size:(walk.at+1)*size]...)
		walk.next()
		if len(row) == chunk {
			if _, err := w.Write(row); err != nil {
				return err
			}
			row = row[:0]
		}
	}
	_, err := w.Write(row)
	return err
}

// misfit says which cell of the file, the one numbered n in its own order,
// has no place in a grid of type t.
func (c cells) misfit(t types.Type, n int, cell []byte, want Want) error {
	index := make([]string, len(c.shape))
	for i := range c.shape {
		d := len(c.shape) - 1 - i
		if c.fortran {
			d = i
		}
		index[d] = "[" + strconv.Itoa(n%c.shape[d]) + "]"
		n /= c.shape[d]
	}
	where := strings.Join(index, "")
	if where == "" {
		where = "[]"
	}
	e := refuse("its value %s at %s does not fit %s, whose cells are %s", c.dtype.text(cell), where,
		want.grid(), t.Word())
	switch {
	case c.dtype.kind == 'f' && t == types.F32:
		return e.hint(
			"float32 does not hold it exactly: round on purpose with .astype('float32') before saving, or declare " +
				"the grid double")
	case t == types.Bool:
		return e.hint("a bool is 0 or 1")
	case t == types.U8:
		return e.hint("a byte is a whole number from 0 to 255")
	case t == types.I32:
		return e.hint("an int is a whole number from -2147483648 to 2147483647")
	}
	return e.hint("it is not exactly a %s", t.Word())
}

// walk visits the cells of a C-ordered array in Fortran order.
type walk struct {
	shape, stride, index []int
	at                   int // the cell's number in C order
}

func newWalk(shape []int) *walk {
	return &walk{shape: shape, stride: strides(shape), index: make([]int, len(shape))}
}

func (w *walk) next() {
	for d, n := range w.shape {
		w.index[d]++
		w.at += w.stride[d]
		if w.index[d] < n {
			return
		}
		w.at -= n * w.stride[d]
		w.index[d] = 0
	}
}
