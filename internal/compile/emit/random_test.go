package emit_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// randomKernels are kernels of threads that hold anything that a kernel in the
// dialect may.
func randomKernels(d *emit.Dialect, count int) []*kernel.Kernel {
	var list []*kernel.Kernel
	draw := rapid.Custom(kerneltest.Kernel)
	for seed := 0; len(list) < count; seed++ {
		if k := draw.Example(seed); kernel.HasThreads(k) && d.Lacks(k) == nil && !dividesByZero(k) {
			k.Name = fmt.Sprintf("random%d", len(list))
			list = append(list, k)
		}
	}
	return list
}

// dividesByZero reports whether an index may be divided by 0, which means
// nothing in C.
func dividesByZero(k *kernel.Kernel) bool {
	found := false
	kernel.WalkStmts(k.Body, nil, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if b, ok := e.(*kernel.Binary); ok && (b.Op == op.Div || b.Op == op.Rem) && b.Y.Type() == types.I64 {
				n, literal := kernel.IntLit(b.Y)
				found = found || !literal || n == 0
			}
		})
	})
	return found
}

// Any kernel is CUDA that compiles, and OpenCL where that has words for it.
func TestRandomKernelsCompile(t *testing.T) {
	needClang(t)
	// Much in them makes no sense.
	sense := []string{"-Wno-unused-but-set-variable", "-Wno-tautological-compare", "-Wno-constant-logical-operand",
		"-Wno-division-by-zero", "-Wno-self-assign"}
	ptx(t, emit.Source(emit.CUDA, &kernel.Module{Kernels: randomKernels(emit.CUDA, 40)}), append(sense, "-O1")...)
	spir(t, emit.Source(emit.OpenCL, &kernel.Module{Kernels: randomKernels(emit.OpenCL, 20)}), sense...)
}

// And devices do with it what the simulator does.
func TestRandomKernelsRun(t *testing.T) {
	onDevices(t, func(t *testing.T, d *target) {
		var able []*kernel.Kernel
		for _, k := range randomKernels(d.Dialect, 20) {
			if d.lacksFor(k) == nil {
				able = append(able, k)
			}
		}
		library := d.load(t, &kernel.Module{Kernels: able})
		for _, k := range able {
			t.Run(k.Name, func(t *testing.T) { runKernel(t, d, library, k, kerneltest.Size) })
		}
	})
}
