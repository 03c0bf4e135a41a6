package kernel

import (
	"fmt"
	"regexp"
	"strings"
)

// shifted is a name that ends with how far it is from another, as row_km1_jp2.
var shifted = regexp.MustCompile(`^[A-Za-z]+((?:_[A-Za-z]+[mp][0-9]+)+)$`)

// shiftedName appends to a name how far an expression is from where its
// variables are: "row" of (mul (sub k 1) N) becomes row_km1, and what is
// computed from that, another name that ends so. Sizes are not told about.
func shiftedName(base string, e Expr, isSize func(*Var) bool) string {
	tail := ""
	say := func(s string) {
		if !strings.Contains(tail, s) {
			tail += s
		}
	}
	var visit func(Expr)
	visit = func(e Expr) {
		if !isIndexType(e) {
			return
		}
		sum := linearOf(e)
		var last *Var
		for _, t := range sum.terms {
			if r, ok := t.atom.(*Ref); !ok {
				if t.atom != e {
					visit(t.atom)
				} else {
					for _, c := range Children(e) {
						visit(c)
					}
				}
			} else if m := shifted.FindStringSubmatch(r.Var.Name); m != nil {
				say(m[1])
			} else if !isSize(r.Var) {
				last = r.Var
			}
		}
		if last == nil || strings.Contains(last.Name, "_") || len(sum.terms) == 0 {
			return
		}
		switch c := wrapTo(e, sum.constant); {
		case c > 0:
			say(fmt.Sprintf("_%sp%d", last.Name, c))
		case c < 0 && c > -1<<31:
			say(fmt.Sprintf("_%sm%d", last.Name, -c))
		}
	}
	visit(e)
	if strings.Count(tail, "_") > 3 { // no longer easy to read
		return base
	}
	return base + tail
}

// TidyNames returns k with new names for what is declared where its name is
// taken, as may come about when lists of statements are joined. The first
// argument, or the outer declaration, keeps its name.
func TidyNames(k *Kernel) *Kernel {
	r := &renamer{vars: map[*Var]*Var{}, buffers: map[*Buffer]*Buffer{}, names: newNames()}
	c := *k
	c.Buffers, c.Scalars = nil, nil
	for _, b := range k.Buffers {
		c.Buffers = append(c.Buffers, r.declareBuffer(b))
	}
	for _, v := range k.Scalars {
		c.Scalars = append(c.Scalars, r.variable(v))
	}
	if len(r.vars) > 0 { // sizes may read what has another name now
		for i, b := range c.Buffers {
			sized := *b
			sized.Cells = r.expr(b.Cells)
			if t := b.Tensor; t != nil {
				sized.Tensor = &Tensor{mapAll(t.Extents, r.expr), t.Box}
			}
			c.Buffers[i] = &sized
			r.buffers[k.Buffers[i]] = &sized
		}
	}
	c.Body = r.list(k.Body)
	return &c
}

type renamer struct {
	vars    map[*Var]*Var
	buffers map[*Buffer]*Buffer
	names   *names        // in scope
	fresh   bool          // variables are others even where their names stay
	values  map[*Var]Expr // of variables that are not needed any more
}

// Copied returns a copy of statements, whose variables are its own, with values in the place of some variables, and
// without the sides of conditions that those exclude.
func Copied(list []Stmt, values map[*Var]Expr) []Stmt {
	r := &renamer{
		vars: map[*Var]*Var{}, buffers: map[*Buffer]*Buffer{}, names: newNames(), fresh: true, values: values,
	}
	return decidedBranches(r.list(list))
}

// variable takes a variable's name, or gives it another one.
func (r *renamer) variable(v *Var) *Var {
	name := r.names.take(v.Name)
	if name == v.Name && !r.fresh {
		return v
	}
	w := NewVar(name, v.Type)
	r.vars[v] = w
	return w
}

// declareBuffer takes a buffer's name, or gives it another one.
func (r *renamer) declareBuffer(b *Buffer) *Buffer {
	name := r.names.take(b.Name)
	if name == b.Name {
		return b
	}
	c := *b
	c.Name = name
	r.buffers[b] = &c
	return &c
}

func (r *renamer) list(list []Stmt) []Stmt {
	var mine []string
	declare := func(v *Var) *Var {
		v = r.variable(v)
		mine = append(mine, v.Name)
		return v
	}
	var out []Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *Alloc:
			b := r.declareBuffer(s.Buffer)
			if cells := r.expr(b.Cells); cells != b.Cells {
				sized := *b
				sized.Cells = cells
				b = &sized
				r.buffers[s.Buffer] = b
			}
			mine = append(mine, b.Name)
			out = append(out, &Alloc{b})
		case *Let:
			if r.values[s.Var] == nil {
				value := r.expr(s.Value)
				out = append(out, &Let{declare(s.Var), value})
			}
		case *Loop:
			out = append(out, r.loop(s))
		case *If:
			out = append(out, &If{r.expr(s.Cond), r.list(s.Then), r.list(s.Else)})
		default:
			c := mapStmt(s, r.expr)
			name := declare
			if _, ok := s.(*Assign); ok {
				name = r.now
			}
			mapNames(c, r.buffer, name)
			out = append(out, c)
		}
	}
	for _, name := range mine {
		r.names.release(name)
	}
	return out
}

func (r *renamer) loop(s *Loop) *Loop {
	l := *s
	l.Lo, l.Hi, l.Step, l.Team = r.expr(s.Lo), r.expr(s.Hi), r.expr(s.Step), maybe(s.Team, r.expr)
	l.Reduce = nil
	for _, red := range s.Reduce {
		l.Reduce = append(l.Reduce, Reduction{red.Op, r.now(red.Var)})
	}
	l.Var = r.variable(s.Var)
	l.Body = r.list(s.Body)
	r.names.release(l.Var.Name)
	return &l
}

func (r *renamer) now(v *Var) *Var {
	if w, ok := r.vars[v]; ok {
		return w
	}
	return v
}

func (r *renamer) buffer(b *Buffer) *Buffer {
	if c, ok := r.buffers[b]; ok {
		return c
	}
	return b
}

func (r *renamer) expr(e Expr) Expr {
	if len(r.vars) == 0 && len(r.buffers) == 0 && len(r.values) == 0 {
		return e
	}
	return Rewrite(e, func(e Expr) Expr {
		switch e := e.(type) {
		case *Ref:
			if value, ok := r.values[e.Var]; ok {
				return value
			}
			return &Ref{r.now(e.Var)}
		case *Load:
			return &Load{r.buffer(e.Buffer), e.Index, e.Via, e.Rank}
		case *Phase:
			return &Phase{r.buffer(e.Buffer), e.Bytes}
		}
		return e
	})
}
