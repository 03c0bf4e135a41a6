package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// threads is how a dialect's threads work together.
type threads struct {
	shared   string // precedes the type of memory that a block shares; ALIGN is what it is aligned to
	aligned  string // follows its size
	pool     string // declares memory that the launch gives each block, and is named gl_pool; ALIGN likewise
	pointer  string // %s is the type of a pointer into the pool at %d bytes
	clusters bool   // blocks in clusters reach each other's shared memory
	async    bool   // there are asynchronous copies and mbarriers
	barriers map[kernel.Scope]string
	apart    string // the helper that they need; "" for none
	shuffles map[kernel.ShuffleKind]string
}

// lacks stops at a node that has no spelling.
func (p *printer) lacks(what string) {
	panic(fmt.Sprintf("emit: %s has no %s", p.Name, what))
}

// pool declares the shared memory of kernels with more of it than their text
// may have.
func (p *printer) pool(k *kernel.Kernel) {
	p.offsets = nil
	if kernel.DynamicShared(k) == 0 || p.Threads == nil || p.Threads.pool == "" {
		return
	}
	p.offsets, _ = kernel.SharedOffsets(k)
	p.indent++
	p.line("%s", p.aligned(p.Threads.pool))
	p.indent--
}

// aligned puts what the kernel's shared memory is aligned to in a declaration.
func (p *printer) aligned(text string) string {
	return strings.ReplaceAll(text, "ALIGN", strconv.FormatInt(p.sharedAlign, 10))
}

// alloc prints memory of a block or of a thread.
func (p *printer) alloc(b *kernel.Buffer) {
	if at, ok := p.offsets[b]; ok {
		elem := p.Memory[b.Elem]
		place := fmt.Sprintf(p.Threads.pointer, elem, at)
		p.line("%s *const %s = %s;", elem, p.declare(b, b.Name), place)
		return
	}
	head := ""
	if b.Space != kernel.Private {
		if p.Threads == nil {
			p.lacks("memory in " + b.Space.String())
		}
		head = p.aligned(p.Threads.shared)
	}
	cells := p.expr(b.Cells)
	tail := ""
	if b.Space != kernel.Private {
		tail = p.Threads.aligned
	}
	p.line("%s%s %s[%s]%s;", head, p.Memory[b.Elem], p.declare(b, b.Name), cells, tail)
}

// barrier prints a barrier.
func (p *printer) barrier(b *kernel.Barrier) {
	if p.Threads == nil {
		p.lacks("barriers")
	}
	if b.Number > 0 {
		p.line("%s<%d, %d>();", p.helper("barrier"), b.Number, b.Threads)
		return
	}
	call, ok := p.Threads.barriers[b.Scope]
	if !ok {
		if name := "barrier_" + b.Scope.String(); isHelper(name) {
			call = p.helper(name) + "()"
		} else {
			p.lacks("barrier of a " + b.Scope.String())
		}
	}
	if p.Threads.apart != "" {
		p.helper(p.Threads.apart)
	}
	p.line("%s;", call)
}

// shuffle prints a value that comes from another lane. Lanes exchange at least
// 32 bits.
func (p *printer) shuffle(s *kernel.Shuffle) {
	if p.Threads == nil || p.Threads.shuffles == nil {
		p.lacks("shuffles")
	}
	value, back := p.expr(s.Value), ""
	if t := s.Var.Type; t == types.Bool || t == types.U8 {
		value, back = fmt.Sprintf("(%s)%s", p.Types[types.I32], p.operand(s.Value, precUnary)), "("+p.Types[t]+")"
	}
	p.let(s.Var, fmt.Sprintf("%s%s(0xffffffffu, %s, %s)", back, p.Threads.shuffles[s.Kind], value, p.expr(s.By)))
}
