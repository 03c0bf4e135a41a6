package profile

import (
	"cmp"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A cached copy copies the same memory many times in one launch. A launch for each copy spends a third of its time on
// starting: an H200 comes to 5.1 to 5.4 TB/s then, where 8.1 are possible.
const (
	copyThreads = 256 // of a block
	copyPieces  = 4   // of a thread: it loads all before it stores them, so that enough is under way
	copyFloats  = 4   // of a piece: 16 bytes
	copyRounds  = 256
)

// cachedCopy returns a kernel that copies a quarter of a cache to another quarter, so many times, and the bytes that it
// reads and writes. It copies less where multiprocessors would have unequal numbers of blocks. It is nil where they
// would have no block.
//
// A thread stores to pieces of its own, so that no two threads race. It loads what lies away from these, in each round
// elsewhere, so that no first cache has it; in the last round it loads what lies at the same place. The argument turn
// is by how many pieces a thread begins later than in the round before. A compiler does not know it, and has to store
// in every round.
func cachedCopy(cache int64, units int, rounds int64) (k *kernel.Kernel, moved float64) {
	elem := types.F32
	multiprocessors := int64(cmp.Or(units, peakUnits))
	pieceBytes := copyFloats * int64(elem.Size())
	blocks := cache / 4 / (copyThreads * copyPieces * pieceBytes) / multiprocessors * multiprocessors
	if blocks == 0 {
		return nil, 0
	}
	threads := blocks * copyThreads
	pieces := threads * copyPieces
	from := &kernel.Buffer{Name: "from", Elem: elem, Mode: kernel.In, Cells: kernel.I(pieces * copyFloats)}
	to := &kernel.Buffer{Name: "to", Elem: elem, Mode: kernel.Out, Cells: kernel.I(pieces * copyFloats)}
	i64 := func(name string) *kernel.Var { return kernel.NewVar(name, types.I64) }
	turn, block, thread, round := i64("turn"), i64("block"), i64("thread"), i64("round")
	var body, stores []kernel.Stmt
	let := func(v *kernel.Var, value kernel.Expr) kernel.Expr {
		body = append(body, &kernel.Let{Var: v, Value: value})
		return kernel.V(v)
	}
	// wrapped subtracts the number of all pieces from one that is not below it.
	wrapped := func(name string, number kernel.Expr) kernel.Expr {
		n := let(i64(name), number)
		return kernel.Sel(kernel.Ge(n, kernel.I(pieces)), kernel.Sub(n, kernel.I(pieces)), n)
	}
	rem := func(x kernel.Expr, n int64) kernel.Expr { return kernel.Bin(op.Rem, x, kernel.I(n)) }
	left := kernel.Sub(kernel.I(rounds-1), kernel.V(round))
	away := let(i64("away"), rem(kernel.Mul(left, kernel.I(copyThreads*copyAway(multiprocessors))), pieces))
	first := let(i64("first"), kernel.Add(
		kernel.Add(kernel.Mul(kernel.V(block), kernel.I(copyThreads)), kernel.V(thread)),
		kernel.Mul(rem(kernel.Mul(kernel.V(round), kernel.V(turn)), copyPieces), kernel.I(threads))))
	for p := range int64(copyPieces) {
		named := func(name string) string { return fmt.Sprint(name, p) }
		mine := let(i64(named("mine")), wrapped(named("target"), kernel.Add(first, kernel.I(p*threads))))
		source := wrapped(named("source"), kernel.Add(mine, away))
		var floats []*kernel.Var
		var values []kernel.Expr
		for f := range copyFloats {
			x := kernel.NewVar(fmt.Sprintf("%s_%d", named("piece"), f), elem)
			floats, values = append(floats, x), append(values, kernel.V(x))
		}
		body = append(body, &kernel.LoadVector{Vars: floats, Buffer: from,
			Index: kernel.Mul(source, kernel.I(copyFloats))})
		stores = append(stores, &kernel.StoreVector{Buffer: to, Index: kernel.Mul(mine, kernel.I(copyFloats)),
			Values: values})
	}
	body = loopTo(round, rounds, kernel.Serial, append(body, stores...))
	k = &kernel.Kernel{Name: "cached_copy", Buffers: []*kernel.Buffer{from, to}, Scalars: []*kernel.Var{turn},
		Body: loopTo(block, blocks, kernel.BlockX, loopTo(thread, copyThreads, kernel.ThreadX, body))}
	return kernel.TidyNames(k), 2 * float64(rounds*pieces*pieceBytes)
}

// copyAway is by how many blocks the places that are loaded change from round to round. A multiprocessor comes back to
// a place after many rounds, whether its blocks follow each other or are dealt out in turn.
func copyAway(multiprocessors int64) int64 { return multiprocessors/2 + 1 }
