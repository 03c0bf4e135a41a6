package emit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// lineWidth is where long statements are broken.
const lineWidth = 110

// printer writes kernels in a dialect and collects the helpers they call.
type printer struct {
	*Dialect
	out     strings.Builder
	indent  int
	helpers map[string]bool
	prefix  string         // of helpers
	names   map[any]string // *kernel.Var or *kernel.Buffer to name
	used    map[string]int // names in use, with the number of scopes that use them
	inTeam  bool           // inside a parallel loop
	anyTeam bool           // leave the number of threads to the caller
	cluster [3]int64       // how many blocks a cluster has, zeros if there are none
	// sharedAlign is what the kernel's shared memory is aligned to, in bytes.
	sharedAlign int64
	exchanges   bool                     // the blocks of a cluster read what others store
	data        map[*kernel.Var]bool     // ints that come from data
	fused       fusedValues              // what is negated by a helper
	clamped     map[*kernel.Var]bool     // ints that are compared by a helper
	offsets     map[*kernel.Buffer]int64 // of shared memory that the launch gives
}

func newPrinter(d *Dialect) *printer {
	return &printer{Dialect: d, helpers: map[string]bool{}, prefix: "gl_"}
}

func (p *printer) line(format string, args ...any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	p.out.WriteString(wrap(strings.Repeat("    ", p.indent), text))
}

// wrap breaks a line once it is too long: before operators, after =, and after
// commas that are in one pair of parentheses at most. A pragma ends with its line,
// unless that ends in a backslash.
func wrap(indent, text string) string {
	if text == "" {
		return "\n"
	}
	end := "\n"
	if text[0] == '#' {
		end = " \\\n"
	}
	var b strings.Builder
	b.WriteString(indent)
	col := len(indent)
	words := strings.Split(text, " ")
	places := breaks(words)
	for i, w := range words {
		switch {
		case i == 0:
		case places[i] && col+1+reach(words[i:], places[i:]) > lineWidth:
			b.WriteString(end + indent + "        ")
			col = len(indent) + 8
		default:
			b.WriteString(" ")
			col++
		}
		b.WriteString(w)
		col += len(w)
	}
	b.WriteString("\n")
	return b.String()
}

// breaks returns before which words a line may be broken.
func breaks(words []string) []bool {
	places := make([]bool, len(words))
	inIndex, depth := 0, 0
	several := false // declarations, one after the other
	for i, w := range words {
		switch w {
		case "+", "-", "?", ":", "&&", "||":
			places[i] = inIndex == 0
		default:
			after := i > 0 &&
				(words[i-1] == "=" && depth == 0 && !several || strings.HasSuffix(words[i-1], ",") && depth <= 1)
			places[i] = inIndex == 0 && after
		}
		inIndex += strings.Count(w, "[") - strings.Count(w, "]")
		several = several || depth == 0 && strings.HasSuffix(w, ",")
		depth += strings.Count(w, "(") + strings.Count(w, "{") - strings.Count(w, ")") - strings.Count(w, "}")
	}
	return places
}

// reach returns the length of the words up to the next place to break.
func reach(words []string, places []bool) int {
	n := len(words[0])
	for i, w := range words[1:] {
		if places[i+1] {
			break
		}
		n += 1 + len(w)
	}
	return n
}

// comment prints a line for the reader, broken between words.
func (p *printer) comment(text string) {
	line := "//"
	for _, w := range strings.Fields(text) {
		if len(line)+1+len(w) > lineWidth && line != "//" {
			p.line("%s", line)
			line = "//    "
		}
		line += " " + w
	}
	p.line("%s", line)
}

// declare gives a variable or buffer its name in the printed code.
func (p *printer) declare(key any, name string) string {
	name = p.legal(name)
	for p.used[name] > 0 {
		name += "_"
	}
	p.used[name]++
	p.names[key] = name
	return name
}

// scoped prints a list of statements whose names end with it.
func (p *printer) scoped(list []kernel.Stmt) {
	p.indent++
	var mine []any
	for _, s := range list {
		mine = append(mine, p.stmt(s)...)
	}
	for _, key := range mine {
		p.used[p.names[key]]--
	}
	p.indent--
}

// kernel prints one kernel function.
func (p *printer) kernel(k *kernel.Kernel) {
	p.names = map[any]string{}
	p.used = map[string]int{}
	p.constants(k)
	for _, d := range k.Doc {
		p.comment(d)
	}
	params := p.params(k)
	if !p.Parallel {
		p.sayLaunch(k)
	}
	p.line("%s%s(%s)", p.Head(k), p.legal(k.Name), strings.Join(params, ", "))
	p.line("{")
	p.cluster, p.sharedAlign, p.exchanges = clusterSize(k), kernel.SharedAlign(k), exchanges(k)
	p.data = nil
	if !p.Wraps {
		p.data = dataOf(k)
	}
	p.fused = fusedValues{}
	if p.NegFma {
		p.fused = fusedIn(k)
	}
	p.clamped = nil
	if p.SameInt != "" {
		p.clamped = clampedIn(k)
	}
	p.pool(k)
	p.scoped(k.Body)
	p.line("}")
}

func (p *printer) params(k *kernel.Kernel) []string {
	var list []string
	for _, b := range k.Buffers {
		if p.outside(b) {
			continue
		}
		if b.Space == kernel.Image {
			if p.Images == nil {
				p.lacks("images")
			}
			list = append(list, fmt.Sprintf("%s %s", p.Images.param, p.declare(b, b.Name)))
			continue
		}
		if b.Space == kernel.TensorMap {
			list = append(list, fmt.Sprintf("const __grid_constant__ %s %s", p.asyncHelper("tensor_map"),
				p.declare(b, b.Name)))
			continue
		}
		list = append(list, fmt.Sprintf("%s *%s%s", p.pointee(b, p.Memory[b.Elem]), p.Restrict, p.declare(b, b.Name)))
	}
	for _, v := range k.Scalars {
		list = append(list, fmt.Sprintf("%s %s", p.Arguments[v.Type], p.declare(v, v.Name)))
	}
	return list
}

// stmt prints a statement and returns what it declared for the rest of its
// list.
func (p *printer) stmt(s kernel.Stmt) []any {
	switch s := s.(type) {
	case *kernel.Let:
		p.let(s.Var, p.expr(s.Value))
		return []any{s.Var}
	case *kernel.Declare:
		value := p.expr(s.Init)
		p.line("%s %s = %s;", p.Types[s.Var.Type], p.declare(s.Var, s.Var.Name), value)
		return []any{s.Var}
	case *kernel.Assign:
		p.line("%s = %s;", p.names[s.Var], p.expr(s.Value))
	case *kernel.Store:
		p.store(s)
	case *kernel.LoadVector:
		return p.loadVector(s)
	case *kernel.StoreVector:
		p.storeVector(s)
	case *kernel.Shuffle:
		p.shuffle(s)
		return []any{s.Var}
	case *kernel.Alloc:
		p.alloc(s.Buffer)
		return []any{s.Buffer}
	case *kernel.Barrier:
		p.barrier(s)
	case *kernel.Loop:
		p.loop(s)
	case *kernel.If:
		p.line("if (%s) {", p.expr(s.Cond))
		p.scoped(s.Then)
		if len(s.Else) > 0 {
			p.line("} else {")
			p.scoped(s.Else)
		}
		p.line("}")
	case *kernel.Comment:
		p.comment(s.Text)
	default:
		if !p.async(s) {
			panic(fmt.Sprintf("emit: %s has no %T", p.Name, s))
		}
	}
	return nil
}

// let prints a variable that keeps its value.
func (p *printer) let(v *kernel.Var, value string) {
	p.line("const %s %s = %s;", p.Types[v.Type], p.declare(v, v.Name), value)
}

func (p *printer) loop(l *kernel.Loop) {
	if index, ok := p.indexOf(l.Tag); ok {
		p.index(l, index)
		return
	}
	lo, hi, step := p.expr(l.Lo), p.operand(l.Hi, op.Lt.Prec()+1), p.expr(l.Step)
	team := l.Tag == kernel.Parallel && p.Parallel && !p.inTeam
	if team {
		p.team(l)
		p.inTeam = true
	}
	if l.Tag == kernel.Vector && p.Parallel {
		p.vector(l)
	}
	if l.Tag == kernel.Unroll && p.Unroll != "" {
		p.line("%s", p.Unroll)
	}
	if l.Factor > 0 && p.Unroll != "" {
		p.line("%s %d", p.Unroll, l.Factor)
	}
	name := p.declare(l.Var, l.Var.Name)
	next := name + " += " + step
	if n, ok := kernel.IntLit(l.Step); ok && n == 1 {
		next = "++" + name
	}
	p.line("for (%s %s = %s; %s < %s; %s) {", p.Types[l.Var.Type], name, lo, name, hi, next)
	p.scoped(l.Body)
	p.line("}")
	p.used[name]--
	if team {
		p.inTeam = false
	}
}

// indexOf returns the launch's index that counts a loop's iterations, which for
// the blocks of clusters are clusters.
func (p *printer) indexOf(t kernel.Tag) (string, bool) {
	switch {
	case t.IsCluster():
		if p.Threads == nil || !p.Threads.clusters {
			p.lacks("clusters")
		}
		axis := t - kernel.ClusterX
		return fmt.Sprintf("%s %% %d", p.Index[kernel.BlockX+axis], p.cluster[axis]), true
	case t.IsBlock() && p.cluster[t-kernel.BlockX] > 1:
		return fmt.Sprintf("%s / %d", p.Index[t], p.cluster[t-kernel.BlockX]), true
	}
	index, ok := p.Index[t]
	return index, ok
}

// index prints a loop whose iterations are the threads or blocks of a launch.
func (p *printer) index(l *kernel.Loop, index string) {
	value := index
	step, ok := kernel.IntLit(l.Step)
	scaled := !ok || step != 1
	lo, ok := kernel.IntLit(l.Lo)
	moved := !ok || lo != 0
	if scaled || moved {
		if strings.Contains(value, " ") {
			value = "(" + value + ")"
		}
		value = "(" + p.Types[l.Var.Type] + ")" + value // the index has fewer bits and no sign
	}
	if scaled {
		value += " * " + p.operand(l.Step, op.Mul.Prec()+1)
	}
	if moved {
		value = p.operand(l.Lo, op.Add.Prec()) + " + " + value
	}
	p.used[p.declare(l.Var, l.Var.Name)]++
	p.line("const %s %s = %s;", p.Types[l.Var.Type], p.names[l.Var], value)
	for _, s := range l.Body {
		p.stmt(s)
	}
}

func (p *printer) team(l *kernel.Loop) {
	text := "#pragma omp parallel for schedule(static)"
	if l.Collapse > 1 {
		text += fmt.Sprintf(" collapse(%d)", l.Collapse)
	}
	if l.Threads > 0 && !p.anyTeam {
		text += fmt.Sprintf(" num_threads(%d)", l.Threads)
	}
	if l.Team != nil {
		if v, ok := l.Team.(*kernel.Lit); !ok {
			text += fmt.Sprintf(" if(%s)", p.expr(l.Team))
		} else if !v.Value.True() {
			return
		}
	}
	p.line("%s", text)
}

func (p *printer) vector(l *kernel.Loop) {
	text := "#pragma omp simd"
	for _, r := range l.Reduce {
		sign := map[op.Op]string{op.Add: "+", op.Min: "min", op.Max: "max"}[r.Op]
		text += fmt.Sprintf(" reduction(%s : %s)", sign, p.names[r.Var])
	}
	p.line("%s", text)
}

// expr prints an expression.
func (p *printer) expr(e kernel.Expr) string {
	text, _ := p.print(e)
	return text
}

// operand prints an expression, in parentheses if it binds looser than prec.
func (p *printer) operand(e kernel.Expr, prec int) string {
	text, own := p.print(e)
	if own < prec {
		return "(" + text + ")"
	}
	return text
}

const (
	precSelect = 3
	precUnary  = 14
	precAtom   = 16
)

// print returns an expression's text and C precedence.
func (p *printer) print(e kernel.Expr) (string, int) {
	if x := negated(e); p.NegFma && x != nil && p.fused.has(x) {
		return fmt.Sprintf("%s(%s)", p.helper("neg_"+e.Type().String()), p.expr(x)), precAtom
	}
	switch e := e.(type) {
	case *kernel.Lit:
		return p.literal(e.Value)
	case *kernel.Ref:
		name, ok := p.names[e.Var]
		if !ok {
			panic("emit: " + e.Var.Name + " is not in scope")
		}
		return name, precAtom
	case *kernel.Load:
		return p.load(e), precAtom
	case *kernel.Unary:
		if e.Op == op.Neg && p.wraps(e.X) {
			return fmt.Sprintf("%s(0, %s)", p.helper("sub_i32"), p.expr(e.X)), precAtom
		}
		x := p.operand(e.X, precUnary)
		if strings.HasPrefix(x, e.Op.Sign()) {
			x = "(" + x + ")" // not --x
		}
		return e.Op.Sign() + x, precUnary
	case *kernel.Binary:
		return p.binary(e)
	case *kernel.Fma:
		return p.fma(e.Type()) + fmt.Sprintf("(%s, %s, %s)", p.expr(e.X), p.expr(e.Y), p.expr(e.Z)), precAtom
	case *kernel.Select:
		looser := precSelect + 1
		if b, ok := e.Cond.(*kernel.Binary); ok && (b.Op == op.And || b.Op == op.Or) {
			looser = precAtom // a & b ? x : y is often a mistake
		}
		return fmt.Sprintf("%s ? %s : %s", p.operand(e.Cond, looser), p.operand(e.X, precSelect+1),
			p.operand(e.Y, precSelect+1)), precSelect
	case *kernel.Cast:
		return p.cast(e)
	case *kernel.FuncCall:
		return p.funcCall(e)
	case *kernel.Phase:
		text := fmt.Sprintf("(uintptr_t)%s %% %d / %d", p.names[e.Buffer], e.Bytes, e.Buffer.Elem.Size())
		return "(" + p.Types[types.I64] + ")(" + text + ")", precUnary
	case *kernel.Random:
		return p.helper(randomHelper(e.T)) + fmt.Sprintf("(%s, %s)", p.expr(e.Seed), p.expr(e.Number)), precAtom
	}
	panic(fmt.Sprintf("emit: %s has no %T", p.Name, e))
}

func (p *printer) binary(e *kernel.Binary) (string, int) {
	t := e.X.Type()
	switch e.Op {
	case op.Min, op.Max:
		return p.helper(e.Op.String()+"_"+t.String()) + fmt.Sprintf("(%s, %s)", p.expr(e.X), p.expr(e.Y)), precAtom
	case op.Div, op.Rem:
		// Index arithmetic never divides by zero; the source's may.
		if c, ok := kernel.IntLit(e.Y); t == types.I32 && (!ok || c == 0 || c == -1) {
			return p.helper(e.Op.String()+"_"+t.String()) + fmt.Sprintf("(%s, %s)", p.expr(e.X), p.expr(e.Y)), precAtom
		}
	}
	if p.wraps(e.X, e.Y) && (e.Op == op.Add || e.Op == op.Sub || e.Op == op.Mul) {
		return p.helper(e.Op.String()+"_i32") + fmt.Sprintf("(%s, %s)", p.expr(e.X), p.expr(e.Y)), precAtom
	}
	prec := e.Op.Prec()
	left, right := prec, prec+1
	// Parentheses where C's precedence surprises its readers.
	switch {
	case e.Op.IsComparison():
		return p.compared(e.X, op.Lt.Prec()+1) + " " + e.Op.Sign() + " " + p.compared(e.Y, op.Lt.Prec()+1), prec
	case e.Op.IsLogic():
		left, right = op.Lt.Prec(), op.Lt.Prec()
	case e.Op == op.And, e.Op == op.Or:
		left, right = precUnary, precUnary
		if t == types.Bool {
			left, right = precUnary+1, precUnary+1 // !x & y is often a mistake
		}
	}
	if b, ok := e.X.(*kernel.Binary); ok && b.Op == e.Op {
		left = prec
	}
	x := p.operand(e.X, left)
	if t == types.I64 && isInt(e.X) && isInt(e.Y) {
		x = "(" + p.Types[t] + ")" + p.operand(e.X, precUnary)
	}
	return x + " " + e.Op.Sign() + " " + p.operand(e.Y, right), prec
}

// isInt reports whether an I64 expression is an int once it is printed: one of
// literals that need no more. Arithmetic on two of them could overflow.
func isInt(e kernel.Expr) bool {
	switch e := e.(type) {
	case *kernel.Lit:
		return e.Value.I <= math.MaxInt32 && e.Value.I >= -math.MaxInt32
	case *kernel.Unary:
		return isInt(e.X)
	case *kernel.Select:
		return isInt(e.X) && isInt(e.Y)
	}
	return false
}

// fma returns the name of the fused multiply-add of a type.
func (p *printer) fma(t types.Type) string {
	if p.Fma != "" {
		return p.helper(p.Fma + t.String())
	}
	if t == types.F32 {
		return "fma" + p.FloatSuffix
	}
	return "fma"
}

func (p *printer) cast(e *kernel.Cast) (string, int) {
	from := e.X.Type()
	switch {
	case e.To == types.Bool:
		return p.operand(e.X, op.Ne.Prec()+1) + " != 0", op.Ne.Prec()
	case from.IsFloat() && !e.To.IsFloat():
		helper := "int_"
		if e.To == types.I64 {
			helper = "long_"
		}
		text := p.helper(helper+from.String()) + "(" + p.expr(e.X) + ")"
		if e.To == types.U8 {
			return "(" + p.Types[types.U8] + ")" + text, precUnary
		}
		return text, precAtom
	}
	return "(" + p.Types[e.To] + ")" + p.operand(e.X, precUnary), precUnary
}

func (p *printer) funcCall(e *kernel.FuncCall) (string, int) {
	switch t := e.Type(); {
	case e.Func == op.Quotient && p.Divide == "":
		return p.binary(&kernel.Binary{Op: op.Div, X: e.Args[0], Y: e.Args[1]})
	case e.Func == op.InvSqrt && (p.InvSqrt == "" || t != types.F64):
		root := &kernel.FuncCall{Func: op.Sqrt, Args: e.Args}
		return p.binary(&kernel.Binary{Op: op.Div, X: kernel.L(op.Float(t, 1)), Y: root})
	}
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.expr(a)
	}
	t := e.Args[0].Type()
	name := p.funcName(e.Func, t)
	switch {
	case !t.IsFloat():
		name = p.helper("abs_" + t.String())
	case e.Func == op.Quotient:
		name = p.helper(p.Divide + t.String())
	case e.Func == op.InvSqrt:
		name = p.helper(p.InvSqrt + t.String())
	}
	return name + "(" + strings.Join(args, ", ") + ")", precAtom
}

func (p *printer) literal(v op.Value) (string, int) {
	if !v.T.IsFloat() {
		switch {
		case v.T == types.Bool:
			return v.String(), precAtom
		case v.T == types.I32 && v.I == math.MinInt32:
			return "(-2147483647 - 1)", precAtom
		case v.T == types.I64 && v.I == math.MinInt64:
			return "(-" + fmt.Sprintf(p.Long, math.MaxInt64) + " - 1)", precAtom
		case v.T == types.I64 && (v.I > math.MaxInt32 || v.I < -math.MaxInt32):
			return fmt.Sprintf(p.Long, v.I), precAtom
		case v.I < 0:
			return v.String(), precUnary
		}
		return v.String(), precAtom
	}
	suffix, bits := "", 64
	if v.T == types.F32 {
		suffix, bits = "f", 32
	}
	var text string
	switch {
	case math.IsInf(v.F, 0):
		text = p.Infinity
		if v.F < 0 {
			text = "-" + text
		}
		return "(" + p.Types[v.T] + ")(" + text + ")", precUnary
	case math.IsNaN(v.F):
		return "(" + p.Types[v.T] + ")" + p.NaN, precUnary
	default:
		text = strconv.FormatFloat(v.F, 'g', -1, bits)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		text += suffix
	}
	if math.Signbit(v.F) {
		return text, precUnary
	}
	return text, precAtom
}

// helper notes that a helper is called and returns its name.
func (p *printer) helper(name string) string {
	p.helpers[name] = true
	return p.prefix + name
}

func randomHelper(t types.Type) string { return "random_" + t.String() }
