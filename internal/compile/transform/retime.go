package transform

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Retimed is some statements of a call in pieces, for a kernel that goes along
// an axis and wants to hold few planes: whatever reads lower planes than the
// rest of its statement is computed as soon as these have come, for a cell
// further on, and its value waits instead of the cells (retiming: Rawat et al.
// 2019, section III-B2). Of a sum in the order of its planes that leaves an
// accumulator for each.
//
//	out[k][i] = ((u[k-1][i-1] + u[k-1][i+1]) + (u[k][i-1] + u[k][i+1])) + u[k+1][i]
//	=>
//	ready at -1: part1 = u[k-1][i-1] + u[k-1][i+1]
//	ready at  0: part2 = part1 + (u[k][i-1] + u[k][i+1])
//	ready at +1: out   = part2 + u[k+1][i]
//
// The operations and their order are those of the statements, so that no bit
// changes.
type Retimed struct {
	Top    int64    // the highest offset along the axis that is read
	Pieces []*Piece // what a piece uses comes before it
	Early  bool     // anything is computed before all planes have come
}

// Piece is a statement or a part of one.
type Piece struct {
	Stmt *ir.Stmt // whose value it is; nil for a part
	Temp *ir.Temp // the name that other pieces have for a part's value
	// Value is the part as its cell sees it, with other pieces in it as temps.
	Value ir.Expr
	Ready int64 // the offset along the axis of the plane with which it is computed
	Uses  []*Piece
}

// Retime cuts statements in pieces along an axis. Of temps among them those
// that kept reports are computed for their own sake, others where they are
// read; those that read no plane stay temps. It refuses statements that read
// temps which are computed elsewhere.
func Retime(p *ir.Program, stmts []*ir.Stmt, axis int, kept func(*ir.Stmt) bool) (*Retimed, error) {
	r := &retimer{
		program: p, axis: axis, def: definitions(stmts), known: map[string]*Piece{},
		pieces: map[tempAt]*Piece{}, temps: map[*ir.Temp]reach{}, exprs: map[ir.Expr]reach{},
	}
	top, found := int64(0), false
	for _, st := range stmts {
		if err := r.foreign(st); err != nil {
			return nil, err
		}
		if at := r.reach(st.Value); at.moves() && (!found || at.high > top) {
			top, found = at.high, true
		}
	}
	r.out.Top = top
	for _, st := range stmts {
		if !kept(st) {
			continue
		}
		root := &Piece{Stmt: st, Ready: top}
		if st.Temp != nil {
			root.Value = r.temp(root, st.Temp)
		} else {
			root.Value = r.cut(root, st.Value)
		}
		r.out.Pieces = append(r.out.Pieces, root)
	}
	return &r.out, nil
}

type retimer struct {
	program *ir.Program
	axis    int
	def     map[*ir.Temp]*ir.Stmt
	temps   map[*ir.Temp]reach
	exprs   map[ir.Expr]reach
	known   map[string]*Piece
	pieces  map[tempAt]*Piece // of temps, so that none is cut once for every path that leads to it
	out     Retimed
}

// tempAt is a temp as it is computed with the plane at an offset.
type tempAt struct {
	temp  *ir.Temp
	ready int64
}

// reach is what an expression reads along the axis: the highest offset, and of
// the cells that it reads there the first two.
type reach struct {
	high  int64
	cells []string
}

func (a reach) moves() bool { return len(a.cells) > 0 }

// several reports whether more than one cell is read: the value then takes less
// room than they do.
func (a reach) several() bool { return len(a.cells) > 1 }

func (a reach) and(b reach) reach {
	if !a.moves() {
		return b
	}
	if !b.moves() {
		return a
	}
	out := reach{max(a.high, b.high), slices.Clone(a.cells)}
	for _, x := range b.cells {
		if len(out.cells) < 2 && !slices.Contains(out.cells, x) {
			out.cells = append(out.cells, x)
		}
	}
	return out
}

func (r *retimer) reach(e ir.Expr) reach {
	var at reach
	if known, ok := r.exprs[e]; ok {
		return known
	}
	switch e := e.(type) {
	case *ir.Access:
		for _, ix := range e.Index {
			if ix.Axis == r.axis {
				at = at.and(reach{ix.Offset, []string{r.program.ExprText(e)}})
			}
		}
	case ir.TempRef:
		if _, ok := r.temps[e.Temp]; !ok {
			r.temps[e.Temp] = r.reach(r.def[e.Temp].Value)
		}
		return r.temps[e.Temp]
	}
	for _, c := range ir.Children(e) {
		at = at.and(r.reach(c))
	}
	r.exprs[e] = at
	return at
}

// foreign refuses a statement with temps from elsewhere.
func (r *retimer) foreign(st *ir.Stmt) (err error) {
	ir.Walk(st.Value, func(e ir.Expr) {
		if t, ok := e.(ir.TempRef); ok && r.def[t.Temp] == nil {
			err = &Refusal{r.program.Infix(st), fmt.Sprintf("reads %s, which another kernel computes", t.Temp.Name)}
		}
	})
	return err
}

// cut returns an expression that a piece computes, with what is ready before
// the piece replaced by pieces of its own.
func (r *retimer) cut(q *Piece, e ir.Expr) ir.Expr {
	if t, ok := e.(ir.TempRef); ok {
		return r.temp(q, t.Temp)
	}
	at := r.reach(e)
	if at.several() && at.high < q.Ready && e.Type() != types.Bool && !r.scaled(e) {
		part := &Piece{Ready: at.high}
		part.Value = r.cut(part, e)
		return r.use(q, r.shared(part, "part", e.Type()))
	}
	return ir.MapChildren(e, func(c ir.Expr) ir.Expr { return r.cut(q, c) })
}

// scaled reports whether an expression is a multiple of what moves. Its
// multiplication is left for later, so that a sum may take it in.
func (r *retimer) scaled(e ir.Expr) bool {
	b, ok := e.(*ir.Binary)
	return ok && b.Op == op.Mul && r.reach(b.X).moves() != r.reach(b.Y).moves()
}

// shared returns a piece, or the one with the same value that is there already.
func (r *retimer) shared(part *Piece, name string, t types.Type) *Piece {
	key := fmt.Sprintf("%d %s %v", part.Ready, r.program.ExprText(part.Value), t)
	ir.Walk(part.Value, func(e ir.Expr) {
		if t, ok := e.(ir.TempRef); ok {
			key += fmt.Sprintf(" %p", t.Temp)
		}
	})
	if old, ok := r.known[key]; ok {
		return old
	}
	part.Temp = &ir.Temp{Name: name, Type: t}
	r.known[key] = part
	r.out.Pieces = append(r.out.Pieces, part)
	return part
}

// temp returns what a piece reads of a temp.
func (r *retimer) temp(q *Piece, t *ir.Temp) ir.Expr {
	at := r.reach(ir.TempRef{Temp: t})
	if !at.moves() {
		return ir.TempRef{Temp: t}
	}
	part := &Piece{Ready: at.high}
	key := tempAt{t, part.Ready}
	if r.pieces[key] == nil {
		part.Value = r.cut(part, r.def[t].Value)
		r.pieces[key] = r.shared(part, t.Name, t.Type)
	}
	return r.use(q, r.pieces[key])
}

// use notes that a piece reads another.
func (r *retimer) use(q, part *Piece) ir.Expr {
	r.out.Early = r.out.Early || part.Ready < q.Ready
	if !slices.Contains(q.Uses, part) {
		q.Uses = append(q.Uses, part)
	}
	return ir.TempRef{Temp: part.Temp}
}
