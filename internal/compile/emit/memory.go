package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// vectors is how a dialect moves several elements at once.
type vectors struct {
	names   map[types.Type]string // of the types, without the number of elements
	helpers map[string]bool       // the types that are no part of the language
	pointer string                // %s points at, %s: a pointer to elements as one to a vector
	value   string                // %s is the type of a vector of the elements %s
}

// caches is how a dialect calls the ways through the caches.
type caches struct {
	loads, stores map[kernel.Via]string // functions of a pointer
}

// pointee spells what a pointer into a buffer points at, given the type there.
func (p *printer) pointee(b *kernel.Buffer, elem string) string {
	space := p.Spaces[b.Space]
	if b.Mode == kernel.In {
		return space + "const " + elem
	}
	return space + elem
}

// element spells a place in a buffer: the element at an index.
func (p *printer) element(b *kernel.Buffer, index kernel.Expr) string {
	return fmt.Sprintf("%s[%s]", p.names[b], p.expr(index))
}

// vectorAt spells a pointer to a vector of elements.
func (p *printer) vectorAt(b *kernel.Buffer, index kernel.Expr, vector string) string {
	return fmt.Sprintf(p.Vectors.pointer, p.pointee(b, vector), "&"+p.element(b, index))
}

// vectorOf returns the type of so many elements of a buffer, "" if they are
// moved one by one: then also those that a thread has for itself, so that they
// may be in registers.
func (p *printer) vectorOf(b *kernel.Buffer, n int) string {
	if p.Vectors == nil || b.Space == kernel.Private {
		return ""
	}
	name := fmt.Sprintf("%s%d", p.Vectors.names[b.Elem], n)
	if p.Vectors.helpers[name] {
		return p.helper(name)
	}
	return name
}

// remote spells a place in the copy of a shared buffer that another block has.
func (p *printer) remote(b *kernel.Buffer, index, rank kernel.Expr) string {
	if p.Threads == nil || !p.Threads.clusters {
		p.lacks("clusters")
	}
	return fmt.Sprintf("%s(%s, %s)[%s]", p.helper("remote"), p.names[b], p.expr(rank), p.expr(index))
}

// load spells a load of one element.
func (p *printer) load(e *kernel.Load) string {
	if e.Rank != nil {
		return p.remote(e.Buffer, e.Index, e.Rank)
	}
	if e.Buffer.Space == kernel.Image {
		return p.fetched(e.Buffer, e.Index)
	}
	place := p.element(e.Buffer, e.Index)
	if f := p.loadVia(e.Buffer, e.Via, p.Memory[e.Buffer.Elem]); f != "" {
		return fmt.Sprintf("%s(&%s)", f, place)
	}
	return place
}

func (p *printer) store(s *kernel.Store) {
	place, value := "", p.expr(s.Value)
	if s.Rank != nil {
		p.line("%s = %s;", p.remote(s.Buffer, s.Index, s.Rank), value)
		return
	}
	place = p.element(s.Buffer, s.Index)
	if f := p.storeVia(s.Buffer, s.Via, p.Memory[s.Buffer.Elem]); f != "" {
		p.line("%s(&%s, %s);", f, place, p.stored(s.Buffer, s.Value))
		return
	}
	p.line("%s = %s;", place, value)
}

// stored spells a value as one of the type that a buffer has in memory.
func (p *printer) stored(b *kernel.Buffer, value kernel.Expr) string {
	if p.Memory[b.Elem] != p.Types[b.Elem] {
		return fmt.Sprintf("(%s)%s", p.Memory[b.Elem], p.operand(value, precUnary))
	}
	return p.expr(value)
}

// loadVector prints one access and a name for each element.
func (p *printer) loadVector(s *kernel.LoadVector) []any {
	var keys []any
	vector := p.vectorOf(s.Buffer, len(s.Vars))
	if vector == "" {
		for i, v := range s.Vars {
			p.let(v, p.element(s.Buffer, kernel.Add(s.Index, offset(s.Index, i))))
			keys = append(keys, v)
		}
		return keys
	}
	value := p.vectorAt(s.Buffer, s.Index, vector)
	if s.Buffer.Space == kernel.Image {
		value = p.fetched(s.Buffer, s.Index)
	} else if f := p.loadVia(s.Buffer, s.Via, vector); f != "" {
		value = fmt.Sprintf("%s(%s)", f, value)
	} else {
		value = "*" + value
	}
	packed := p.declare(s, p.fresh(s.Buffer.Name+"_"+vectorWords[len(s.Vars)]))
	p.line("const %s %s = %s;", vector, packed, value)
	keys = append(keys, s)
	parts := make([]string, len(s.Vars))
	for i, v := range s.Vars {
		parts[i] = fmt.Sprintf("%s = %s.%s", p.declare(v, v.Name), packed, component(len(s.Vars), i))
		keys = append(keys, v)
	}
	p.line("const %s %s;", p.Types[s.Buffer.Elem], strings.Join(parts, ", "))
	return keys
}

func (p *printer) storeVector(s *kernel.StoreVector) {
	vector := p.vectorOf(s.Buffer, len(s.Values))
	if vector == "" {
		for i, v := range s.Values {
			p.store(&kernel.Store{
				Buffer: s.Buffer, Index: kernel.Add(s.Index, offset(s.Index, i)), Value: v, Rank: s.Rank,
			})
		}
		return
	}
	parts := make([]string, len(s.Values))
	for i, v := range s.Values {
		parts[i] = p.stored(s.Buffer, v)
	}
	format := p.Vectors.value
	if p.Vectors.helpers[strings.TrimPrefix(vector, "gl_")] {
		format = "%s{%s}"
	}
	value := fmt.Sprintf(format, vector, strings.Join(parts, ", "))
	if s.Rank != nil {
		place := p.remote(s.Buffer, s.Index, s.Rank)
		p.line("*%s = %s;", fmt.Sprintf(p.Vectors.pointer, p.pointee(s.Buffer, vector), "&"+place), value)
		return
	}
	place := p.vectorAt(s.Buffer, s.Index, vector)
	if f := p.storeVia(s.Buffer, s.Via, vector); f != "" {
		p.line("%s(%s, %s);", f, place, value)
		return
	}
	p.line("*%s = %s;", place, value)
}

// offset is a number to add to an index.
func offset(index kernel.Expr, i int) kernel.Expr {
	return kernel.L(op.Int(index.Type(), int64(i)))
}

// fresh numbers a name that is in use.
func (p *printer) fresh(name string) string {
	pick := name
	for n := 2; p.used[p.legal(pick)] > 0; n++ {
		pick = fmt.Sprintf("%s_%d", name, n)
	}
	return pick
}

var vectorWords = map[int]string{2: "pair", 4: "quad", 8: "octet"}

// component names a part of a vector.
func component(n, i int) string {
	if n <= 4 {
		return "xyzw"[i : i+1]
	}
	return fmt.Sprintf("s%d", i)
}

// loadVia returns the function that loads a type in global memory some way, ""
// for the plain one. What keeps a line in the caches is spelled for buffers
// that are only read, since the compiler does not see it read.
func (p *printer) loadVia(b *kernel.Buffer, via kernel.Via, of string) string {
	if p.Caches == nil || b.Space != kernel.Global || p.Vectors.helpers[strings.TrimPrefix(of, "gl_")] {
		return ""
	}
	if h := "load_resident_" + of; via == kernel.Resident && b.Mode == kernel.In && isHelper(h) {
		return p.helper(h)
	}
	return p.Caches.loads[via]
}

// storeVia returns the function that stores likewise.
func (p *printer) storeVia(b *kernel.Buffer, via kernel.Via, of string) string {
	if p.Caches == nil || b.Space != kernel.Global || p.Vectors.helpers[strings.TrimPrefix(of, "gl_")] {
		return ""
	}
	if h := "store_resident_" + of; via == kernel.Resident && isHelper(h) {
		return p.helper(h)
	}
	return p.Caches.stores[via]
}
