package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Numbers that tell which cells of rims a thread has, and where they stand. They are found once a tile, and read where
// a warp has such cells alone. In registers they take room from the cells in all steps: then others are spilled. So
// they may be in shared memory, where each thread has its own.

// rimWords are those in shared memory.
type rimWords struct {
	buffer *kernel.Buffer
	kept   map[kernel.Expr]int64       // what is loaded of them, and the number of each
	loads  map[*kernel.Var]kernel.Expr // the same by the variable that was kept
	most   int64                       // words of a thread
}

// begin forgets the words of a tile.
func (w *rimWords) begin() {
	w.kept, w.loads = map[kernel.Expr]int64{}, map[*kernel.Var]kernel.Expr{}
}

// wordsShared reports whether they are in shared memory. Numbers have to fit in 32 bits, which is known for one size.
func (p *pipe) wordsShared() bool {
	if p.set.Word(schedule.RimWords) != schedule.WordsInShared || !p.baked {
		return false
	}
	plane := int64(1)
	for _, dim := range p.extents[1:] {
		plane *= p.opts.Bound.Extent(dim).Len() + p.span(1) + p.span(len(p.axes)-1)
	}
	return plane < 1<<31
}

// keepWord keeps a number of the tile for rims, once if it is asked again. What it returns is for word alone.
func (p *pipe) keepWord(body *scope, value kernel.Expr) kernel.Expr {
	w := &p.words
	of, is := value.(*kernel.Ref) // else it is known, or kept already
	switch {
	case !is || !p.wordsShared():
		return value
	case w.loads[of.Var] != nil:
		return w.loads[of.Var]
	}
	if w.buffer == nil {
		w.buffer = &kernel.Buffer{Name: body.declare(p.env, "rim_words", types.I64).Name, Elem: types.I32,
			Space: kernel.Shared, Mode: kernel.InOut}
	}
	slot := int64(len(w.kept))
	w.most = max(w.most, slot+1)
	at := kernel.Add(kernel.Mul(p.warp, kernel.I(32)), p.lane)
	at = kernel.Add(at, kernel.I(slot*p.warps*32))
	body.emit(&kernel.Store{Buffer: w.buffer, Index: at, Value: kernel.Conv(types.I32, value)})
	loaded := kernel.Expr(&kernel.Load{Buffer: w.buffer, Index: at})
	if t := value.Type(); t != types.I32 {
		loaded = kernel.Conv(t, loaded)
	}
	w.kept[loaded], w.loads[of.Var] = slot, loaded
	return loaded
}

// word is a number that keepWord has kept, loaded in a scope if it has to be.
func (p *pipe) word(list *scope, kept kernel.Expr) kernel.Expr {
	slot, is := p.words.kept[kept]
	if !is {
		return kept
	}
	return list.let(p.env, fmt.Sprintf("rim-word-%d", slot), "rim_word", kept)
}

// allocateWords is the memory for the words of all threads.
func (p *pipe) allocateWords(top *scope) []kernel.Stmt {
	w := &p.words
	if w.buffer == nil {
		return nil
	}
	w.buffer.Cells = kernel.I(w.most * p.warps * 32)
	return []kernel.Stmt{&kernel.Alloc{Buffer: w.buffer}}
}
