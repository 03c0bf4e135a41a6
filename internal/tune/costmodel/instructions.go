package costmodel

import (
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// mix is what a thread does when it carries out some statements once.
type mix struct {
	issue    float64 // instructions
	double   float64 // of these, those of the units for double precision
	shared   float64 // bytes that move through shared memory, shuffles included
	loaded   float64 // bytes of the device's memory, before caches
	stored   float64
	barriers float64 // that a block waits at
	waits    float64 // of warps for other blocks
}

func (m *mix) add(n mix, times float64) {
	m.issue += n.issue * times
	m.double += n.double * times
	m.shared += n.shared * times
	m.loaded += n.loaded * times
	m.stored += n.stored * times
	m.barriers += n.barriers * times
	m.waits += n.waits * times
}

// Instructions of operations that are more than one. Functions differ; these are of the size that nvcc 13 makes
// of them for compute capability 9.0.
const (
	floatDivision  = 10
	doubleDivision = 22
	intDivision    = 20 // by what is not known
	literalDivide  = 4  // by a literal
	floatFunction  = 20
	doubleFunction = 60
)

// clusterBarrier is how many barriers of a block one of a cluster costs. That it takes 200 cycles more is an
// assumption. An mbarrier at which blocks beside each other arrive, too, counts as one of a block: what threads do
// between their arrival and their wait hides the rest.
const clusterBarrier = 3.3

// body counts the instructions of statements that follow each other. A value that is computed twice counts once,
// and what does not change from one iteration of their loop to the next counts nothing: compilers move it out.
type body struct {
	varies   map[*kernel.Var]bool // what changes from iteration to iteration; nil where there is no loop
	versions map[*kernel.Var]int  // how often variables have been assigned
	seen     map[string]bool
	mix
	beside map[*kernel.FlagWait]bool // waits of lanes side by side, which are counted as one where their loop is
}

// once reports whether an expression comes for the first time, with the values that its variables have.
func (b *body) once(what string, list ...kernel.Expr) bool {
	text := what
	for _, e := range list {
		text += " " + kernel.ExprText(e)
		kernel.Walk(e, func(e kernel.Expr) {
			if ref, ok := e.(*kernel.Ref); ok && b.versions[ref.Var] > 0 {
				text += " " + strconv.Itoa(b.versions[ref.Var])
			}
		})
	}
	if b.seen[text] {
		return false
	}
	b.seen[text] = true
	return true
}

// variesIn returns the variables that a loop sets.
func variesIn(l *kernel.Loop) map[*kernel.Var]bool {
	list := map[*kernel.Var]bool{l.Var: true}
	kernel.WalkStmts(l.Body, func(s kernel.Stmt) {
		for _, v := range sets(s) {
			list[v] = true
		}
	}, nil)
	return list
}

// sets returns the variables that a statement sets.
func sets(s kernel.Stmt) []*kernel.Var {
	switch s := s.(type) {
	case *kernel.Let:
		return []*kernel.Var{s.Var}
	case *kernel.Declare:
		return []*kernel.Var{s.Var}
	case *kernel.Assign:
		return []*kernel.Var{s.Var}
	case *kernel.Shuffle:
		return []*kernel.Var{s.Var}
	case *kernel.LoadVector:
		return s.Vars
	case *kernel.Loop:
		return []*kernel.Var{s.Var}
	}
	return nil
}

// constant reports whether an expression is the same in all iterations.
func (b *body) constant(e kernel.Expr) bool {
	if b.varies == nil {
		_, literal := e.(*kernel.Lit)
		return literal
	}
	same := true
	kernel.Walk(e, func(e kernel.Expr) {
		switch e := e.(type) {
		case *kernel.Ref:
			same = same && !b.varies[e.Var]
		case *kernel.Load, *kernel.Random:
			same = false
		}
	})
	return same
}

// expr counts an expression.
func (b *body) expr(e kernel.Expr) {
	if _, ref := e.(*kernel.Ref); ref || b.constant(e) {
		return
	}
	if _, load := e.(*kernel.Load); !load && !b.once("", e) {
		return
	}
	words := float64(max(4, e.Type().Size())) / 4
	isDouble := e.Type().IsFloat() && e.Type().Size() == 8
	spend := func(n float64) {
		b.issue += n
		if isDouble {
			b.double += n
		}
	}
	switch e := e.(type) {
	case *kernel.Load:
		b.access(e.Buffer, e.Index, 1, &b.loaded)
		return
	case *kernel.Binary:
		isDouble = e.X.Type().IsFloat() && e.X.Type().Size() == 8
		switch {
		case e.Op != op.Div && e.Op != op.Rem:
			if e.X.Type().IsFloat() {
				words = 1
			}
			spend(words)
		case e.X.Type().IsFloat() && isDouble:
			spend(doubleDivision)
		case e.X.Type().IsFloat():
			spend(floatDivision)
		case b.constant(e.Y):
			spend(literalDivide)
		default:
			spend(intDivision)
		}
	case *kernel.Fma, *kernel.Unary, *kernel.Cast:
		spend(1)
	case *kernel.Select:
		b.issue += words
	case *kernel.FuncCall:
		switch {
		case e.Func == op.Quotient: // hardly ever needed
			return
		case e.Func == op.Abs: // a sign that operands have
		case isDouble:
			spend(doubleFunction)
		default:
			spend(floatFunction)
		}
	case *kernel.Random:
		spend(doubleFunction)
	}
	for _, c := range kernel.Children(e) {
		b.expr(c)
	}
}

// access counts an access to so many elements at an index.
func (b *body) access(buffer *kernel.Buffer, index kernel.Expr, elements int, global *float64) {
	bytes := float64(elements * buffer.Elem.Size())
	switch buffer.Space {
	case kernel.Private:
		return
	case kernel.Shared:
		b.shared += bytes
	case kernel.Global, kernel.Image, kernel.Constant:
		*global += bytes
	}
	b.issue++
	b.address(index)
}

// address counts what an address takes. Literals are in the instruction, and what does not change is in a base.
func (b *body) address(e kernel.Expr) {
	var terms []kernel.Expr
	var flatten func(e kernel.Expr)
	flatten = func(e kernel.Expr) {
		if x, ok := e.(*kernel.Binary); ok && x.Op == op.Add {
			flatten(x.X)
			flatten(x.Y)
		} else if !b.constant(e) {
			terms = append(terms, e)
		}
	}
	flatten(e)
	if len(terms) == 0 || !b.once("address", terms...) {
		return
	}
	for _, t := range terms {
		b.issue++
		b.expr(t)
	}
}

// stmts counts statements, without those that are parts of their own.
func (b *body) stmts(list []kernel.Stmt, apart map[kernel.Stmt]bool) {
	for _, s := range list {
		if apart[s] {
			continue
		}
		b.stmt(s, apart)
	}
}

func (b *body) stmt(s kernel.Stmt, apart map[kernel.Stmt]bool) {
	switch s := s.(type) {
	case *kernel.Let:
		b.expr(s.Value)
	case *kernel.Declare:
		b.expr(s.Init)
	case *kernel.Assign:
		b.expr(s.Value)
		b.versions[s.Var]++
	case *kernel.Store:
		b.expr(s.Value)
		b.access(s.Buffer, s.Index, 1, &b.stored)
	case *kernel.LoadVector:
		b.access(s.Buffer, s.Index, len(s.Vars), &b.loaded)
	case *kernel.StoreVector:
		for _, e := range s.Values {
			b.expr(e)
		}
		b.access(s.Buffer, s.Index, len(s.Values), &b.stored)
	case *kernel.Shuffle:
		words := float64(max(4, s.Var.Type.Size())) / 4
		b.expr(s.Value)
		b.issue += words
		b.shared += 4 * words
	case *kernel.AsyncCopy:
		b.access(s.To, s.At, s.Cells, nil)
		b.loaded += float64(s.Cells * s.From.Elem.Size())
		b.address(s.Index)
	case *kernel.Prefetch:
		b.issue++
		b.address(s.Index)
	case *kernel.Barrier:
		b.issue++
		switch s.Scope {
		case kernel.BlockScope:
			b.barriers++
		case kernel.ClusterScope:
			b.barriers += clusterBarrier
		}
		if s.Scope == kernel.GridScope {
			b.waits += 1. / warp // all lanes come to it
		}
	case *kernel.MbarrierWait:
		b.issue += 2
		b.barriers++
	case *kernel.FlagWait:
		b.issue += 4
		if !b.beside[s] {
			b.waits++ // by one lane of a warp
		}
	case *kernel.AsyncCommit, *kernel.AsyncWait, *kernel.AsyncFence, *kernel.MbarrierArrive, *kernel.MbarrierInit,
		*kernel.FlagSet, *kernel.BulkCopy, *kernel.TensorCopy:
		b.issue++
	case *kernel.If: // behind a predicate
		b.expr(s.Cond)
		b.stmts(s.Then, apart)
		b.stmts(s.Else, apart)
	case *kernel.Loop:
		b.issue += 2 // a counter and a branch
		b.stmts(s.Body, apart)
	}
}
