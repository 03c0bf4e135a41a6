package lang

import "github.com/gridloom/gridloom/internal/compile/diag"

// stencilInfo is what can be said of a stencil, or of an initial block, before
// its formals are bound.
type stencilInfo struct {
	def     *StencilDef // nil for an initial block
	body    []Stmt
	formals map[string]*Formal
	locals  map[string]*Declarator
	indexed map[string][]*IndexExpr // where a name is read or written with an index
	bare    map[string]*Ident       // where a name first stands without one
	targets map[string]bool         // names that are assigned with an index
	called  bool
	broken  bool // what is said of its formals contradicts itself
}

// defineAll looks at the stencils and initial blocks as they stand.
func (c *checker) defineAll(f *File) {
	for _, it := range f.Items {
		switch it := it.(type) {
		case *StencilDef:
			if info := c.stencils[it.Name.Name]; info.def == it {
				c.define(info, it.Body)
			}
		case *InitialDef:
			info := &stencilInfo{}
			c.define(info, it.Body)
			c.initials = append(c.initials, info)
		}
	}
}

// maxStatements bounds the statements of one body.
const maxStatements = 4096

func (c *checker) define(info *stencilInfo, body []Stmt) {
	info.body = body
	info.formals = make(map[string]*Formal)
	info.locals = make(map[string]*Declarator)
	info.indexed = make(map[string][]*IndexExpr)
	info.bare = make(map[string]*Ident)
	info.targets = make(map[string]bool)
	d := &definer{checker: c, info: info}
	if info.def != nil {
		d.declareFormals()
	}
	if len(body) > maxStatements {
		c.diags.Errorf(body[maxStatements].Span(), "this is more than %d statements", maxStatements)
	}
	unknown := c.unknown
	for _, s := range body {
		d.stmt(s)
	}
	// A name that is unknown may be a misspelt formal.
	if info.def != nil && c.unknown == unknown && !c.damaged {
		d.unused()
	}
	d.twoKinds()
}

// definer walks one body.
type definer struct {
	*checker
	info  *stencilInfo
	names []string // that the body declares, the variables of open sums included
}

func (d *definer) declareFormals() {
	for _, f := range d.info.def.Formals {
		name := f.Name.Name
		if first, ok := d.info.formals[name]; ok {
			d.diags.Errorf(f.Name.Span(), "%q is declared twice", name).Notef(first.Name.Span(),
				"it is first declared here")
			continue
		}
		if d.isIterator(name) {
			d.diags.Errorf(f.Name.Span(), "%q is an iterator and cannot be a formal argument", name)
		}
		d.info.formals[name] = f
		d.names = append(d.names, name)
	}
}

func (c *checker) isIterator(name string) bool {
	_, ok := c.globals[name].(*iterSym)
	return ok
}

func (d *definer) declareLocal(v *Declarator) {
	name := v.Name.Name
	var first diag.Range
	switch {
	case d.info.formals[name] != nil:
		first = d.info.formals[name].Name.Span()
	case d.info.locals[name] != nil:
		first = d.info.locals[name].Name.Span()
	case d.isIterator(name):
		d.diags.Errorf(v.Name.Span(), "%q is an iterator and cannot be declared again", name)
		return
	default:
		d.info.locals[name] = v
		d.names = append(d.names, name)
		return
	}
	d.diags.Errorf(v.Name.Span(), "%q is declared twice", name).Notef(first, "it is first declared here")
}

func (d *definer) stmt(s Stmt) {
	switch s := s.(type) {
	case *VarDecl:
		d.domain(s.Domain)
		for _, v := range s.Vars {
			for _, dim := range v.Dims {
				d.expr(dim.Lo)
				d.expr(dim.Hi)
			}
			d.expr(v.Value)
			d.table(v.Table)
			d.declareLocal(v)
		}
	case *Assignment:
		d.domain(s.Domain)
		d.color(s.Color)
		d.target(s.Target)
		d.expr(s.Value)
	case *Reduction:
		d.domain(s.Domain)
		d.color(s.Color)
		d.use(s.Target)
		d.expr(s.Value)
	case *BoundaryDecl:
		for _, id := range s.Grids {
			d.mention(id)
		}
		for _, r := range s.Rules {
			d.expr(r.Value)
		}
	case *Storage:
		for _, id := range s.Names {
			d.mention(id)
		}
	case *AssignDirective:
		for _, g := range s.Groups {
			d.stmt(g)
		}
	}
}

func (d *definer) domain(box *Domain) {
	if box == nil {
		return
	}
	for _, r := range box.Ranges {
		d.expr(r.Lo)
		d.expr(r.Hi)
	}
}

func (d *definer) color(c *Color) {
	if c != nil {
		d.expr(c.Sum)
	}
}

func (d *definer) table(t *Table) {
	if t == nil {
		return
	}
	for _, entry := range t.Entries {
		switch entry := entry.(type) {
		case *Table:
			d.table(entry)
		case Expr:
			d.expr(entry)
		}
	}
}

func (d *definer) target(x Expr) {
	switch x := x.(type) {
	case *Ident:
		d.use(x)
	case *IndexExpr:
		d.index(x)
		d.info.targets[x.Name.Name] = true
	}
}

// mention checks the name of a grid in a hint or a boundary, which is no use
// of it. Its declaration may follow.
func (d *definer) mention(id *Ident) {
	for _, s := range d.info.body {
		if v, ok := s.(*VarDecl); ok {
			for _, decl := range v.Vars {
				if decl.Name.Name == id.Name {
					return
				}
			}
		}
	}
	d.known(id)
}

// known reports a name that stands for nothing.
func (d *definer) known(id *Ident) {
	if _, ok := d.globals[id.Name]; ok {
		return
	}
	for _, n := range d.names {
		if n == id.Name {
			return
		}
	}
	switch id.Name {
	case "step", "true", "false":
		return
	}
	candidates := append(append([]string(nil), d.names...), d.globalNames(anySymbol)...)
	d.undefined(id, append(candidates, "step", "true", "false"))
}

func (d *definer) use(id *Ident) {
	d.known(id)
	if _, ok := d.info.bare[id.Name]; !ok {
		d.info.bare[id.Name] = id
	}
}

func (d *definer) index(x *IndexExpr) {
	d.known(x.Name)
	d.info.indexed[x.Name.Name] = append(d.info.indexed[x.Name.Name], x)
	for _, ix := range x.Indices {
		d.expr(ix)
	}
}

func (d *definer) expr(x Expr) {
	switch x := x.(type) {
	case *Ident:
		d.use(x)
	case *ParenExpr:
		d.expr(x.X)
	case *UnaryExpr:
		d.expr(x.X)
	case *BinaryExpr:
		d.expr(x.X)
		d.expr(x.Y)
	case *CondExpr:
		d.expr(x.Cond)
		d.expr(x.X)
		d.expr(x.Y)
	case *CallExpr:
		for _, a := range x.Args {
			d.expr(a)
		}
		d.function(x, d.symbolOf(x.Func.Name))
	case *IndexExpr:
		d.index(x)
	case *SumExpr:
		d.expr(x.Lo)
		d.expr(x.Hi)
		before := d.info.bare[x.Var.Name]
		d.names = append(d.names, x.Var.Name)
		d.expr(x.Body)
		d.names = d.names[:len(d.names)-1]
		// Inside the sum the name was its variable, not what it hides.
		if before == nil {
			delete(d.info.bare, x.Var.Name)
		}
	}
}

// symbolOf returns roughly what a name stands for: formals are not bound yet.
func (d *definer) symbolOf(name string) symbol {
	switch {
	case d.info.locals[name] != nil && len(d.info.locals[name].Dims) == 0:
		return &tempSym{}
	case d.info.locals[name] != nil, d.info.formals[name] != nil:
		return &arraySym{}
	}
	return d.globals[name]
}

// twoKinds reports formals that are grids in one place and scalars in another.
func (d *definer) twoKinds() {
	if d.info.def == nil {
		return
	}
	for _, f := range d.info.def.Formals {
		name := f.Name.Name
		bare, indexed := d.info.bare[name], d.info.indexed[name]
		if d.info.formals[name] == f && bare != nil && len(indexed) > 0 {
			d.diags.Errorf(bare.Span(), "%q has no index here", name).Notef(indexed[0].Span(), "and one here")
			d.info.broken = true
		}
	}
}

func (d *definer) unused() {
	for _, f := range d.info.def.Formals {
		name := f.Name.Name
		if d.info.formals[name] != f || d.info.bare[name] != nil || len(d.info.indexed[name]) > 0 {
			continue
		}
		stencil := d.info.def.Name.Name
		d.lenient(unusedArg, f.Name.Span(), name+" of "+stencil, "the formal argument %q is not used in stencil %s",
			name, stencil)
	}
}
