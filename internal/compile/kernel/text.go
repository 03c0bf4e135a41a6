package kernel

import (
	"fmt"
	"strconv"
	"strings"
)

// Text prints a kernel as an S-expression with one statement a line.
//
//	(kernel scale
//	  (doc "v = a*u")
//	  (buffer u f64 global in N)
//	  (buffer v f64 global out N)
//	  (scalar N i64)
//	  (scalar a f64)
//	  (for i i64 parallel (i64 0) N (i64 1) (threads 4)
//	    (if (lt i (i64 8))
//	      (then
//	        (store v i (mul a (load u i))))
//	      (else
//	        (store v i (f64 0))))))
//
// After a loop's step come (threads n), (team condition), (collapse n) and (reduce op var)
// where it has them. ParseText reads the text of every kernel that Verify
// accepts back as it was.
func Text(k *Kernel) string {
	w := &writer{}
	w.kernel(k)
	return w.b.String() + "\n"
}

// Lines returns the line of Text, from 1, at which each statement starts.
func Lines(k *Kernel) map[Stmt]int {
	w := &writer{at: map[Stmt]int{}}
	w.kernel(k)
	return w.at
}

func (w *writer) kernel(k *Kernel) {
	w.open("kernel " + word(k.Name))
	for _, line := range k.Doc {
		w.line("(doc " + strconv.Quote(line) + ")")
	}
	for _, b := range k.Buffers {
		special := ""
		if b.Texel != 0 {
			special = fmt.Sprintf(" (texel %d)", b.Texel)
		}
		if b.Tensor != nil {
			special += b.Tensor.text()
		}
		w.line(fmt.Sprintf("(buffer %s %s %s %s %s%s)", b.Name, b.Elem, b.Space, b.Mode, ExprText(b.Cells), special))
	}
	for _, s := range k.Scalars {
		w.line(fmt.Sprintf("(scalar %s %s)", s.Name, s.Type))
	}
	if k.MinBlocks != 0 {
		w.line(fmt.Sprintf("(blocks %d)", k.MinBlocks))
	}
	if k.MaxRegisters != 0 {
		w.line(fmt.Sprintf("(registers %d)", k.MaxRegisters))
	}
	w.list(k.Body)
	w.close()
}

// StmtText prints a statement, with one a line where it holds others.
func StmtText(s Stmt) string {
	w := &writer{}
	w.stmt(s)
	return w.b.String()
}

// ExprText prints an expression on one line.
func ExprText(e Expr) string {
	var b strings.Builder
	writeExpr(&b, e)
	return b.String()
}

// exprTexts prints expressions with blanks between them.
func exprTexts(list []Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = ExprText(e)
	}
	return strings.Join(texts, " ")
}

// word prints a name, also one that is no atom.
func word(name string) string {
	if name == "" || strings.ContainsAny(name, " \t\r\n();\"") {
		return strconv.Quote(name)
	}
	return name
}

type writer struct {
	b      strings.Builder
	indent int
	lines  int
	at     map[Stmt]int // the line of each statement; nil if nobody asks
}

// line starts a line with text.
func (w *writer) line(text string) {
	if w.b.Len() > 0 {
		w.b.WriteByte('\n')
	}
	w.lines++
	for range w.indent {
		w.b.WriteString("  ")
	}
	w.b.WriteString(text)
}

func (w *writer) open(head string) {
	w.line("(" + head)
	w.indent++
}

func (w *writer) close() {
	w.b.WriteByte(')')
	w.indent--
}

func (w *writer) list(list []Stmt) {
	for _, s := range list {
		if w.at != nil {
			w.at[s] = w.lines + 1
		}
		w.stmt(s)
	}
}

func (w *writer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		w.line(fmt.Sprintf("(let %s %s %s)", s.Var.Name, s.Var.Type, ExprText(s.Value)))
	case *Declare:
		w.line(fmt.Sprintf("(var %s %s %s)", s.Var.Name, s.Var.Type, ExprText(s.Init)))
	case *Assign:
		w.line(fmt.Sprintf("(set %s %s)", s.Var.Name, ExprText(s.Value)))
	case *Store:
		w.line(fmt.Sprintf("(store %s %s %s%s)",
			s.Buffer.Name, ExprText(s.Index), ExprText(s.Value), how(s.Via, s.Rank)))
	case *LoadVector:
		names := make([]string, len(s.Vars))
		for i, x := range s.Vars {
			names[i] = x.Name
		}
		w.line(fmt.Sprintf("(loads (%s) %s %s%s)",
			strings.Join(names, " "), s.Buffer.Name, ExprText(s.Index), how(s.Via, nil)))
	case *StoreVector:
		w.line(fmt.Sprintf("(stores %s %s (%s)%s)",
			s.Buffer.Name, ExprText(s.Index), exprTexts(s.Values), how(s.Via, s.Rank)))
	case *Shuffle:
		w.line(fmt.Sprintf("(shuffle %s %s %s %s %s)",
			s.Var.Name, s.Var.Type, s.Kind, ExprText(s.Value), ExprText(s.By)))
	case *Prefetch:
		w.line(fmt.Sprintf("(prefetch %s %s)", s.Buffer.Name, ExprText(s.Index)))
	case *AsyncCopy:
		w.line(fmt.Sprintf("(async %s %s %s %s %d)",
			s.To.Name, ExprText(s.At), s.From.Name, ExprText(s.Index), s.Cells))
	case *AsyncCommit:
		w.line("(async.commit)")
	case *AsyncWait:
		w.line(fmt.Sprintf("(async.wait %d)", s.Pending))
	case *AsyncFence:
		w.line("(async.fence)")
	case *BulkCopy:
		w.line(fmt.Sprintf("(bulk %s %s %s %s %s %s %s)", s.To.Name, ExprText(s.At), s.From.Name, ExprText(s.Index),
			ExprText(s.Cells), s.Mbarrier.Name, ExprText(s.Slot)))
	case *TensorCopy:
		w.line(fmt.Sprintf("(tensor %s %s %s (%s) %s %s%s)", s.To.Name, ExprText(s.At), s.From.Name,
			exprTexts(s.Corner), s.Mbarrier.Name, ExprText(s.Slot), part("blocks", s.Blocks)))
	case *MbarrierInit:
		w.line(fmt.Sprintf("(mbarrier.init %s %s %s)", s.Mbarrier.Name, ExprText(s.Slot), ExprText(s.Count)))
	case *MbarrierArrive:
		w.line(fmt.Sprintf("(mbarrier.arrive %s %s%s%s)", s.Mbarrier.Name, ExprText(s.Slot), part("bytes", s.Bytes),
			part("rank", s.Rank)))
	case *MbarrierWait:
		w.line(fmt.Sprintf("(mbarrier.wait %s %s %s)", s.Mbarrier.Name, ExprText(s.Slot), ExprText(s.Parity)))
	case *FlagSet:
		w.line(fmt.Sprintf("(flag.set %s %s %s)", s.Buffer.Name, ExprText(s.Index), ExprText(s.Value)))
	case *FlagWait:
		w.line(fmt.Sprintf("(flag.wait %s %s %s)", s.Buffer.Name, ExprText(s.Index), ExprText(s.Value)))
	case *Alloc:
		b := s.Buffer
		w.line(fmt.Sprintf("(alloc %s %s %s %s)", b.Name, b.Elem, b.Space, ExprText(b.Cells)))
	case *Loop:
		w.loop(s)
	case *If:
		w.open("if " + ExprText(s.Cond))
		w.branch("then", s.Then)
		w.branch("else", s.Else)
		w.close()
	case *Barrier:
		some := ""
		if s.Number != 0 || s.Threads != 0 {
			some = fmt.Sprintf(" (number %d) (threads %d)", s.Number, s.Threads)
		}
		w.line("(barrier " + s.Scope.String() + some + ")")
	case *Comment:
		w.line("(comment " + strconv.Quote(s.Text) + ")")
	default:
		panic("kernel: unknown statement")
	}
}

// how prints what an access says beside its index.
func how(via Via, rank Expr) string {
	s := ""
	if via != Plain {
		s = " (via " + via.String() + ")"
	}
	return s + part("rank", rank)
}

// part prints an expression that may be missing, with a head before it.
func part(head string, e Expr) string {
	if e == nil {
		return ""
	}
	return " (" + head + " " + ExprText(e) + ")"
}

func (w *writer) branch(head string, list []Stmt) {
	if len(list) == 0 {
		return
	}
	w.open(head)
	w.list(list)
	w.close()
}

func (w *writer) loop(l *Loop) {
	head := []string{"for", l.Var.Name, l.Var.Type.String(), l.Tag.String()}
	if l.Path != AnyPath {
		head = append(head, l.Path.String())
	}
	head = append(head, ExprText(l.Lo), ExprText(l.Hi), ExprText(l.Step))
	if l.Threads != 0 {
		head = append(head, fmt.Sprintf("(threads %d)", l.Threads))
	}
	if l.Team != nil {
		head = append(head, "(team "+ExprText(l.Team)+")")
	}
	if l.Collapse != 0 {
		head = append(head, fmt.Sprintf("(collapse %d)", l.Collapse))
	}
	if l.Factor != 0 {
		head = append(head, fmt.Sprintf("(factor %d)", l.Factor))
	}
	for _, r := range l.Reduce {
		head = append(head, fmt.Sprintf("(reduce %s %s)", r.Op, r.Var.Name))
	}
	w.open(strings.Join(head, " "))
	w.list(l.Body)
	w.close()
}

func writeExpr(b *strings.Builder, e Expr) {
	list := func(head string, operands ...Expr) {
		b.WriteString("(" + head)
		for _, x := range operands {
			b.WriteByte(' ')
			writeExpr(b, x)
		}
		b.WriteByte(')')
	}
	switch e := e.(type) {
	case *Lit:
		fmt.Fprintf(b, "(%s %s)", e.Value.T, e.Value)
	case *Ref:
		b.WriteString(e.Var.Name)
	case *Load:
		b.WriteString("(load " + e.Buffer.Name + " ")
		writeExpr(b, e.Index)
		b.WriteString(how(e.Via, e.Rank) + ")")
	case *Unary:
		list(e.Op.String(), e.X)
	case *Binary:
		list(e.Op.String(), e.X, e.Y)
	case *Fma:
		list("fma", e.X, e.Y, e.Z)
	case *Select:
		list("select", e.Cond, e.X, e.Y)
	case *Cast:
		list("cast "+e.To.String(), e.X)
	case *FuncCall:
		list("call "+e.Func.String(), e.Args...)
	case *Phase:
		fmt.Fprintf(b, "(phase %s %d)", e.Buffer.Name, e.Bytes)
	case *Random:
		list("random "+e.T.String(), e.Seed, e.Number)
	default:
		panic("kernel: unknown expression")
	}
}
