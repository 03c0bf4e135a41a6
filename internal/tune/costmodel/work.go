package costmodel

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Work is what a launch does, counted on its kernel. Instructions are those of warps, all threads of a warp
// together; bytes are those of all threads.
type Work struct {
	Blocks, Threads int64   // Threads of a block
	Issue           float64 // instructions
	Double          float64 // of these, those of the units for double precision
	Shared          float64 // bytes that move through shared memory, shuffles included
	Loaded, Stored  float64 // bytes of the device's memory, before caches
	Once            float64 // bytes of the device's memory if each element of each grid moved once, read or written
	Barriers        float64 // that the blocks wait at, all together
	Waits           float64 // for other blocks, of a block
	Hot             float64 // executions of the part that takes most, of all threads
	Taken           lower.Estimate
}

// spilled is the bytes that spilled registers move, if they are those of the part that takes most.
func (w *Work) spilled(known Known) float64 { return float64(known.Spills) * w.Hot }

// warp is the threads of a warp, which kernels of several iterations are built for.
const warp = 32

// sample is the blocks and threads that stand for all: counting every thread of a kernel takes up to minutes.
var sample = kernel.Sample{Blocks: 37, ThreadsX: 2, Threads: 16, Iterations: 24}

// part is a list of statements that are carried out equally often.
type part struct {
	first kernel.Stmt // whose executions tell how often
	mix
}

// WorkOf counts what a launch does for the sizes that the program is bound to.
func WorkOf(x *kernel.Launch, b *ir.Binding) (*Work, error) {
	k := x.Kernel
	args := x.Sizes(b.Params, 0, CountedRounds)
	geometry, err := kernel.LaunchGeometry(k, args)
	if err != nil {
		return nil, err
	}
	w := &Work{Blocks: 1, Threads: 1, Taken: lower.Resources(k)}
	for i := range geometry.Blocks {
		w.Blocks *= geometry.Blocks[i]
		w.Threads *= geometry.Threads[i]
	}
	s := splitter{lanes: map[*kernel.Var]bool{}, beside: map[*kernel.FlagWait]bool{}}
	s.list(k.Body, nil)
	marked := map[kernel.Stmt]bool{}
	for _, p := range s.parts {
		marked[p.first] = true
	}
	times, err := kernel.SampledExecutions(k, args, marked, sample)
	if err != nil {
		return nil, fmt.Errorf("the work cannot be counted: %w", err)
	}
	all, most := mix{}, 0.0
	for _, p := range s.parts {
		n := float64(times[p.first])
		all.add(p.mix, n)
		if n*p.issue > most {
			most, w.Hot = n*p.issue, n
		}
	}
	w.Issue, w.Double, w.Shared = all.issue/warp, all.double/warp, all.shared
	w.Loaded, w.Stored, w.Once = all.loaded, all.stored, once(k, args)
	w.Barriers = all.barriers / float64(w.Threads)
	w.Waits = all.waits * warp / float64(w.Threads*w.Blocks)
	return w, nil
}

// once returns the bytes of memory that a kernel is given, twice for what it reads and writes.
func once(k *kernel.Kernel, args map[*kernel.Var]op.Value) float64 {
	sum := 0.0
	for _, b := range k.Buffers {
		if b.Space == kernel.TensorMap { // of a buffer that is there as well
			continue
		}
		bytes := float64(kernel.Eval(b.Cells, args).I * int64(b.Elem.Size()))
		if b.Mode == kernel.InOut {
			bytes *= 2
		}
		sum += bytes
	}
	return sum
}

// CountedRounds is how many rounds are counted of a kernel that repeats: so many that what comes before and after them
// is a small part, as it is in a loop.
const CountedRounds = 64

// splitter splits a kernel into parts.
type splitter struct {
	parts []part
	lanes map[*kernel.Var]bool // variables that differ within a warp
	// beside are waits by the lanes of a warp, each for another block.
	beside map[*kernel.FlagWait]bool
}

// sideBySide reports whether the lanes of a warp go through a loop side by side and wait for other blocks there.
func (s *splitter) sideBySide(l *kernel.Loop) bool {
	found := false
	if s.differs(l.Lo) {
		kernel.WalkStmts(l.Body, func(stmt kernel.Stmt) {
			if w, ok := stmt.(*kernel.FlagWait); ok {
				found, s.beside[w] = true, true
			}
		}, nil)
	}
	return found
}

// list splits statements. Those in a loop over the stream are counted as one iteration.
func (s *splitter) list(list []kernel.Stmt, varies map[*kernel.Var]bool) {
	apart := map[kernel.Stmt]bool{}
	for _, stmt := range list {
		s.note(stmt)
		switch stmt := stmt.(type) {
		case *kernel.Loop:
			apart[stmt] = true
			s.sideBySide(stmt)
			inner := varies
			if stmt.Tag == kernel.Serial || stmt.Tag == kernel.Unroll {
				inner = variesIn(stmt)
			}
			s.list(stmt.Body, inner)
		case *kernel.If:
			if s.branch(stmt, varies) {
				apart[stmt] = true
				s.list(stmt.Then, varies)
				s.list(stmt.Else, varies)
			}
		}
	}
	s.add(list, varies, apart)
}

func (s *splitter) add(list []kernel.Stmt, varies map[*kernel.Var]bool, apart map[kernel.Stmt]bool) {
	var first kernel.Stmt
	for _, stmt := range list {
		if _, comment := stmt.(*kernel.Comment); !comment && !apart[stmt] {
			first = stmt
			break
		}
	}
	if first == nil {
		return
	}
	b := &body{varies: varies, versions: map[*kernel.Var]int{}, seen: map[string]bool{}, beside: s.beside}
	b.stmts(list, apart)
	for _, stmt := range list {
		if l, ok := stmt.(*kernel.Loop); ok && s.sideBySide(l) {
			b.waits += 1. / warp
		}
	}
	s.parts = append(s.parts, part{first, b.mix})
}

// note remembers which variables differ within a warp.
func (s *splitter) note(stmt kernel.Stmt) {
	switch stmt := stmt.(type) {
	case *kernel.Loop:
		s.lanes[stmt.Var] = stmt.Tag == kernel.ThreadX || s.differs(stmt.Lo)
	case *kernel.Let:
		s.lanes[stmt.Var] = s.differs(stmt.Value)
	case *kernel.Declare:
		s.lanes[stmt.Var] = s.differs(stmt.Init)
	case *kernel.Assign:
		s.lanes[stmt.Var] = s.lanes[stmt.Var] || s.differs(stmt.Value)
	case *kernel.Shuffle:
		s.lanes[stmt.Var] = stmt.Kind != kernel.ShuffleFrom
	case *kernel.LoadVector:
		for _, v := range stmt.Vars {
			s.lanes[v] = true
		}
	}
}

// differs reports whether an expression may have several values within a warp.
func (s *splitter) differs(e kernel.Expr) bool {
	found := false
	kernel.Walk(e, func(e kernel.Expr) {
		switch e := e.(type) {
		case *kernel.Ref:
			found = found || s.lanes[e.Var]
		case *kernel.Load, *kernel.Random:
			found = true
		}
	})
	return found
}

// branch reports whether warps jump over a condition's statements: all their lanes agree. Within a loop over the
// stream that holds of conditions that do not change there. Other statements are behind predicates.
func (s *splitter) branch(stmt *kernel.If, varies map[*kernel.Var]bool) bool {
	loops := false
	kernel.WalkStmts(stmt.Then, func(inner kernel.Stmt) {
		_, loop := inner.(*kernel.Loop)
		loops = loops || loop
	}, nil)
	b := body{varies: varies}
	return loops || !s.differs(stmt.Cond) && (varies == nil || b.constant(stmt.Cond))
}

// IssueSeconds is how long the device takes to start the instructions, if it does nothing else: each multiprocessor
// starts as many a cycle as it has warps' worth of units for floats.
func (w *Work) IssueSeconds(m *machine.Machine) float64 {
	return w.Issue / (m.Peak.F32 * 1e9 / 2 / float64(m.GPU.Warp))
}
