package kernel

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Verify reports everything that makes k no kernel, each with the path of the
// statement: names, scopes and types, what may be assigned, loaded and stored
// where, and how loops, memory and barriers nest. A kernel that passes can be
// printed in every dialect that has its tags, and run in the simulator; that
// indices are within their buffers and that no threads race only a run shows.
func Verify(k *Kernel) error {
	v := &verifier{
		kernel:   k,
		level:    levels(k),
		names:    map[string]bool{},
		vars:     map[*Var]*declared{},
		buffers:  map[*Buffer]*declared{},
		declared: map[any]bool{},
		constant: map[*Var]bool{},
		gpu:      HasThreads(k),
		tags:     map[Tag]int{},
		flags:    Flags(k.Body),
	}
	WalkStmts(k.Body, func(s Stmt) {
		if l, ok := s.(*Loop); ok {
			v.tags[l.Tag]++
		}
	}, nil)
	v.signature()
	if k.MinBlocks < 0 || k.MaxRegisters < 0 || k.MinBlocks > 0 && k.MaxRegisters > 0 {
		v.fail("%d blocks a multiprocessor and %d registers a thread: one of them may be given",
			k.MinBlocks, k.MaxRegisters)
	}
	v.list(k.Body)
	return errors.Join(v.errs...)
}

// HasThreads reports whether any loop of k is run by the threads or blocks of
// a GPU.
func HasThreads(k *Kernel) bool {
	found := false
	WalkStmts(k.Body, func(s Stmt) {
		if l, ok := s.(*Loop); ok && l.Tag.isLaunch() {
			found = true
		}
	}, nil)
	return found
}

type verifier struct {
	kernel   *Kernel
	level    *leveller
	path     trail
	loops    []*Loop // that enclose the statement, outermost first
	ifs      []*If   // likewise
	under    level   // of the conditions and trip counts that enclose the statement
	names    map[string]bool
	taken    []string // the names, in the order in which they were taken
	vars     map[*Var]*declared
	buffers  map[*Buffer]*declared
	declared map[any]bool  // variables and buffers ever declared
	constant map[*Var]bool // variables that are known when unroll loops are written out
	gpu      bool          // the kernel has threads or blocks
	tags     map[Tag]int   // loops of each tag in the kernel
	flags    map[*Buffer]bool
	covered  int  // Parallel loops that an outer one's Collapse still covers
	folding  *Var // the variable that the statement assigns to, which it may also read
	errs     []error
}

// declared is what is known of a variable or a buffer in scope.
type declared struct {
	kind  string
	loops int // loops that enclose the declaration
}

const (
	kindScalar  = "an argument"
	kindLoop    = "a loop's variable"
	kindLet     = "a value that is named once"
	kindMutable = "a variable"
	kindBuffer  = "a buffer"
)

func (v *verifier) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %s", v.path.under(v.kernel.Name), fmt.Sprintf(format, args...)))
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`) // printers replace the points
	oneLine    = regexp.MustCompile(`^[^\n\r]*$`)
)

// name checks a name and takes it for the rest of the scope.
func (v *verifier) name(name string) {
	switch {
	case !identifier.MatchString(name):
		v.fail("%q is not a name", name)
	case v.names[name]:
		v.fail("the name %s is taken", name)
	}
	if !v.names[name] {
		v.names[name] = true
		v.taken = append(v.taken, name)
	}
}

// forget frees the names that have been taken since there were so many.
func (v *verifier) forget(since int) {
	for _, name := range v.taken[since:] {
		delete(v.names, name)
	}
	v.taken = v.taken[:since]
}

func (v *verifier) once(thing any, name string) {
	if v.declared[thing] {
		v.fail("%s is declared twice", name)
	}
	v.declared[thing] = true
}

func (v *verifier) declare(x *Var, kind string) {
	v.name(x.Name)
	v.once(x, x.Name)
	if x.Type == types.Invalid {
		v.fail("%s has no type", x.Name)
	}
	v.vars[x] = &declared{kind, len(v.loops)}
}

func (v *verifier) declareBuffer(b *Buffer) {
	v.name(b.Name)
	v.once(b, b.Name)
	if b.Elem == types.Invalid {
		v.fail("%s has no element type", b.Name)
	}
	v.buffers[b] = &declared{kindBuffer, len(v.loops)}
}

func (v *verifier) signature() {
	if !identifier.MatchString(v.kernel.Name) {
		v.fail("%q is not a name", v.kernel.Name)
	}
	for _, line := range v.kernel.Doc {
		v.text(line)
	}
	for _, x := range v.kernel.Scalars {
		v.declare(x, kindScalar)
	}
	for _, b := range v.kernel.Buffers {
		v.declareBuffer(b)
		switch b.Space {
		case Global:
		case Constant, Image, TensorMap:
			if b.Mode != In {
				v.fail("%s is in %s memory and may be written", b.Name, b.Space)
			}
		default:
			v.fail("the argument %s is in %s memory", b.Name, b.Space)
		}
		v.image(b)
		v.tensorMap(b)
		v.cells(b.Cells, "the size of "+b.Name)
	}
}

// image checks what an image is made of.
func (v *verifier) image(b *Buffer) {
	switch n := b.Texel; {
	case b.Space != Image && n != 0:
		v.fail("%s is in %s memory, which has no texels", b.Name, b.Space)
	case b.Space == Image && n != 1 && n != 2 && n != 4:
		v.fail("the texels of %s have %d elements, not 1, 2 or 4", b.Name, n)
	case b.Space == Image && n*b.Elem.Size() > maxVector:
		v.fail("the texels of %s have %d bytes, more than %d", b.Name, n*b.Elem.Size(), maxVector)
	}
}

// text checks a line that is printed as a comment.
func (v *verifier) text(line string) {
	if !oneLine.MatchString(line) || strings.HasSuffix(line, `\`) {
		v.fail("%q is not one line of text", line)
	}
}

// cells checks a number of elements, which a launch has to know.
func (v *verifier) cells(n Expr, what string) {
	if n, ok := IntLit(n); ok {
		if n < 1 {
			v.fail("%s is %d", what, n)
		}
		return
	}
	v.want(n, types.I64, what)
	Walk(n, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			if d := v.vars[e.Var]; d != nil && d.kind != kindScalar {
				v.fail("%s reads %s, which is %s", what, e.Var.Name, d.kind)
			}
		case *Load:
			v.fail("%s reads memory", what)
		}
	})
}

// list checks a list of statements, whose names end with it.
func (v *verifier) list(list []Stmt) {
	taken := len(v.taken)
	var vars []*Var
	var buffers []*Buffer
	for i, s := range list {
		v.path = append(v.path, step{list: list, i: i})
		v.stmt(s)
		v.path = v.path[:len(v.path)-1]
		vars = append(vars, Named(s)...)
		if a, ok := s.(*Alloc); ok {
			buffers = append(buffers, a.Buffer)
		}
	}
	for _, x := range vars {
		delete(v.vars, x)
	}
	for _, b := range buffers {
		delete(v.buffers, b)
	}
	v.forget(taken)
}

func (v *verifier) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		v.want(s.Value, s.Var.Type, "the value")
		v.declare(s.Var, kindLet)
		v.constant[s.Var] = v.isConstant(s.Value)
	case *Declare:
		v.want(s.Init, s.Var.Type, "the value")
		v.declare(s.Var, kindMutable)
	case *Assign:
		v.assign(s)
	case *Store:
		v.index(s.Buffer, s.Index)
		v.want(s.Value, s.Buffer.Elem, "the value")
		v.stores(s.Buffer, s.Via)
		v.rank(s.Buffer, s.Rank)
	case *LoadVector:
		v.loadVector(s)
	case *StoreVector:
		v.storeVector(s)
	case *Shuffle:
		v.shuffle(s)
	case *Prefetch:
		v.index(s.Buffer, s.Index)
		v.loads(s.Buffer, Plain)
		if s.Buffer.Space != Global {
			v.fail("a prefetch from %s memory", s.Buffer.Space)
		}
	case *AsyncCopy, *AsyncCommit, *AsyncWait, *AsyncFence, *BulkCopy, *TensorCopy, *MbarrierInit, *MbarrierArrive,
		*MbarrierWait:
		v.async(s)
	case *FlagSet:
		v.flag(s.Buffer, s.Index, s.Value)
	case *FlagWait:
		v.flag(s.Buffer, s.Index, s.Value)
	case *Alloc:
		v.alloc(s.Buffer)
	case *Loop:
		v.loop(s)
	case *If:
		v.want(s.Cond, types.Bool, "the condition")
		v.ifs = append(v.ifs, s)
		under := v.under
		v.under = max(v.under, v.level.expr(s.Cond))
		v.branch("then", s.Then)
		v.branch("else", s.Else)
		v.under = under
		v.ifs = v.ifs[:len(v.ifs)-1]
	case *Barrier:
		v.barrier(s)
	case *Comment:
		v.text(s.Text)
	default:
		panic("kernel: unknown statement")
	}
}

func (v *verifier) branch(name string, list []Stmt) {
	v.path = append(v.path, step{name: name})
	v.list(list)
	v.path = v.path[:len(v.path)-1]
}

// assign checks that iterations which run at once do not share the variable,
// unless they reduce into it.
func (v *verifier) assign(s *Assign) {
	v.folding = s.Var
	v.want(s.Value, s.Var.Type, "the value")
	v.folding = nil
	d := v.vars[s.Var]
	switch {
	case d == nil:
		v.fail("%s is not in scope", s.Var.Name)
		return
	case d.kind != kindMutable:
		v.fail("%s is %s and is assigned to", s.Var.Name, d.kind)
		return
	}
	for _, l := range v.loops[d.loops:] {
		if l.Tag == Serial || l.Tag == Unroll {
			continue
		}
		if r := reductionOf(l, s.Var); r == nil {
			v.fail("%s is shared by the iterations of the %s loop over %s", s.Var.Name, l.Tag, l.Var.Name)
		} else if !accumulates(s, r) {
			v.fail("%s is reduced by the loop over %s and has to be set to %s of itself and a value",
				s.Var.Name, l.Var.Name, r.Op)
		}
	}
}

func reductionOf(l *Loop, x *Var) *Reduction {
	for i := range l.Reduce {
		if l.Reduce[i].Var == x {
			return &l.Reduce[i]
		}
	}
	return nil
}

// accumulates reports whether s combines its variable with a value by a
// reduction's operator, or leaves it as it is.
func accumulates(s *Assign, r *Reduction) bool {
	if isRef(s.Value, s.Var) {
		return true
	}
	b, ok := s.Value.(*Binary)
	if !ok || b.Op != r.Op && !(b.Op == op.Sub && r.Op == op.Add) {
		return false
	}
	if isRef(b.X, s.Var) {
		return !reads(b.Y, s.Var)
	}
	return b.Op == r.Op && isRef(b.Y, s.Var) && !reads(b.X, s.Var)
}

func isRef(e Expr, x *Var) bool {
	r, ok := e.(*Ref)
	return ok && r.Var == x
}

func reads(e Expr, x *Var) bool {
	found := false
	Walk(e, func(e Expr) { found = found || isRef(e, x) })
	return found
}

func (v *verifier) alloc(b *Buffer) {
	if n, ok := IntLit(b.Cells); !ok {
		v.fail("%s is %s and its size is not a literal", b.Name, b.Space)
	} else if n < 1 {
		v.fail("%s has %d cells", b.Name, n)
	}
	switch b.Space {
	case Private:
	case Shared:
		v.perBlock(b)
	case Mbarrier:
		v.perBlock(b)
		if b.Elem != types.I64 {
			v.fail("%s holds mbarriers and is of %s, not of i64", b.Name, b.Elem)
		}
	default:
		v.fail("%s is in %s memory, which a kernel cannot make", b.Name, b.Space)
	}
	if b.Mode != InOut {
		v.fail("%s is made here and has the mode %s", b.Name, b.Mode)
	}
	v.declareBuffer(b)
}

// perBlock checks memory that each block has.
func (v *verifier) perBlock(b *Buffer) {
	outermost := len(v.ifs) == 0 && v.has(Tag.IsThread)
	for _, l := range v.loops {
		outermost = outermost && (l.Tag.IsBlock() || l.Tag.IsCluster())
	}
	if !outermost {
		v.fail("%s is shared by a block and is not made between the block loops and the thread loops", b.Name)
	}
}

func (v *verifier) has(kind func(Tag) bool) bool {
	for t := Serial; t <= ClusterZ; t++ {
		if kind(t) && v.tags[t] > 0 {
			return true
		}
	}
	return false
}

func (v *verifier) inside(kind func(Tag) bool) bool {
	for _, l := range v.loops {
		if kind(l.Tag) {
			return true
		}
	}
	return false
}

// want checks an expression and that it has a type.
func (v *verifier) want(e Expr, t types.Type, what string) {
	if got := v.expr(e); got != t && got != types.Invalid {
		v.fail("%s is %s where %s is wanted", what, got, t)
	}
}

// expr checks an expression and returns its type, Invalid after an error.
func (v *verifier) expr(e Expr) types.Type {
	switch e := e.(type) {
	case *Lit:
		return e.Value.T
	case *Ref:
		d := v.vars[e.Var]
		if d == nil {
			v.fail("%s is not in scope", e.Var.Name)
			return types.Invalid
		}
		v.reduced(e.Var)
		return e.Var.Type
	case *Load:
		v.index(e.Buffer, e.Index)
		v.loads(e.Buffer, e.Via)
		v.texel(e.Buffer, 1)
		v.rank(e.Buffer, e.Rank)
		return e.Buffer.Elem
	case *Unary:
		return v.unary(e)
	case *Binary:
		return v.binary(e)
	case *Fma:
		t := v.same(e.X, e.Y, "fma")
		if z := v.expr(e.Z); t != types.Invalid && z != types.Invalid && (z != t || !t.IsFloat()) {
			v.fail("fma of %s and %s", t, z)
			return types.Invalid
		}
		return t
	case *Select:
		v.want(e.Cond, types.Bool, "the condition of a select")
		return v.same(e.X, e.Y, "select")
	case *Cast:
		if v.expr(e.X) == types.Invalid {
			return types.Invalid
		}
		return e.To
	case *FuncCall:
		return v.funcCall(e)
	case *Random:
		v.want(e.Seed, types.I64, "the seed")
		v.want(e.Number, types.I64, "the number")
		if !e.T.IsFloat() {
			v.fail("a random %s", e.T)
		}
		return e.T
	case *Phase:
		v.access(e.Buffer)
		if e.Buffer.Space != Global {
			v.fail("the phase of %s, which is in %s memory", e.Buffer.Name, e.Buffer.Space)
		}
		if size := int64(e.Buffer.Elem.Size()); e.Bytes < size || e.Bytes%size != 0 {
			v.fail("the phase of %s counts from multiples of %d bytes, and its elements have %d",
				e.Buffer.Name, e.Bytes, size)
		}
		return types.I64
	case nil:
		v.fail("an expression is missing")
		return types.Invalid
	}
	panic("kernel: unknown expression")
}

// reduced checks that a variable which a loop around reduces into is read
// only to be accumulated into.
func (v *verifier) reduced(x *Var) {
	for _, l := range v.loops {
		if reductionOf(l, x) != nil && v.folding != x {
			v.fail("%s is reduced by the loop over %s and is read in it", x.Name, l.Var.Name)
		}
	}
}

// same checks two operands that have one type and returns it.
func (v *verifier) same(x, y Expr, what string) types.Type {
	tx, ty := v.expr(x), v.expr(y)
	if tx == types.Invalid || ty == types.Invalid {
		return types.Invalid
	}
	if tx != ty {
		v.fail("%s of %s and %s", what, tx, ty)
		return types.Invalid
	}
	return tx
}

func (v *verifier) unary(e *Unary) types.Type {
	t := v.expr(e.X)
	if t == types.Invalid {
		return t
	}
	if e.Op.Arity() != 1 || !applies(e.Op, t) {
		v.fail("%s of %s", e.Op, t)
		return types.Invalid
	}
	return t
}

func (v *verifier) binary(e *Binary) types.Type {
	t := v.same(e.X, e.Y, e.Op.String())
	if t == types.Invalid {
		return t
	}
	if e.Op.Arity() != 2 || !applies(e.Op, t) {
		v.fail("%s of %s and %s", e.Op, t, t)
		return types.Invalid
	}
	if e.Op.IsComparison() {
		return types.Bool
	}
	return t
}

// applies reports whether an operator works on operands of a type.
func applies(o op.Op, t types.Type) bool {
	switch o {
	case op.Add, op.Sub, op.Mul, op.Div, op.Min, op.Max, op.Neg:
		return t.IsFloat() || t == types.I32 || t == types.I64
	case op.Rem:
		return t == types.I32 || t == types.I64
	case op.And, op.Or:
		return t == types.I32 || t == types.I64 || t == types.Bool
	case op.LAnd, op.LOr, op.Not:
		return t == types.Bool
	}
	return o.IsComparison()
}

func (v *verifier) funcCall(e *FuncCall) types.Type {
	if len(e.Args) != e.Func.Arity() || len(e.Args) == 0 {
		v.fail("%s of %d arguments", e.Func, len(e.Args))
		return types.Invalid
	}
	t := v.expr(e.Args[0])
	for _, a := range e.Args[1:] {
		if u := v.expr(a); t != types.Invalid && u != types.Invalid && u != t {
			v.fail("%s of %s and %s", e.Func, t, u)
			return types.Invalid
		}
	}
	if t != types.Invalid && !t.IsFloat() && !(t == types.I32 && e.Func == op.Abs) {
		v.fail("%s of %s", e.Func, t)
		return types.Invalid
	}
	return t
}
