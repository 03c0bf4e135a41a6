package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// crowded is how many times the registers of a thread its loads take where one block a multiprocessor is enough.
const crowded = 1.5

// lowerOccupancy says that one block a multiprocessor is enough, where a thread loads far more than its registers hold.
// A compiler that is told nothing leaves room for more blocks, and spills more for it: ptxas 12.4 gave 32 registers to
// the plain kernel of rhs4sgcurv, with 4.8 KB of local memory a thread, and gives 255 with 1.9 KB if one block is
// enough. Where the plan or the source has asked for something, it stands.
func lowerOccupancy(k *kernel.Kernel, gpu *machine.GPU) {
	asked := k.MinBlocks > 0 || k.MaxRegisters > 0
	if !asked && float64(loadedRegisters(k)) > crowded*float64(gpu.RegistersPerThread) {
		k.MinBlocks = 1
	}
}

// loadedRegisters is how many registers a kernel's loads take, each once.
func loadedRegisters(k *kernel.Kernel) int64 {
	seen := map[string]bool{}
	n := int64(0)
	load := func(b *kernel.Buffer, at kernel.Expr, cells int) {
		if b.Space == kernel.Private || b.Space == kernel.Mbarrier {
			return
		}
		if text := b.Name + " " + kernel.ExprText(at); !seen[text] {
			seen[text] = true
			n += int64(cells) * registersOf(b.Elem)
		}
	}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if v, ok := s.(*kernel.LoadVector); ok {
			load(v.Buffer, v.Index, len(v.Vars))
		}
	}, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if l, ok := e.(*kernel.Load); ok {
				load(l.Buffer, l.Index, 1)
			}
		})
	})
	return n
}
