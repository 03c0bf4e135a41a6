package profile

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

// registerBytes is the size of a register of a GPU's thread.
const registerBytes = 4

// InTheory returns what is known of a call's kernel before anything is measured: its class by the roofline, from
// compulsory bytes and operations, on the machine that its facts were bound to (analysis.Facts.On). Rules read it as
// they read a profile. What they predict is how much faster the roofline is without the memory, or the arithmetic.
func InTheory(c *analysis.CallFacts, gpu bool) *Kernel {
	k := &Kernel{Name: c.Name, Depth: 1, Class: NotTold, Variants: []Variant{}, Evidence: []string{}}
	if gpu {
		size := 0.0
		for _, a := range c.Arrays {
			size = max(size, float64(a.IR.Type.Size()))
		}
		k.Resources.Registers = int(c.Loads * size / registerBytes)
	}
	b := c.Bound
	if b == nil || !(b.Memory > 0) {
		return k
	}
	const words = "compulsory bytes take %s ps a point at the bandwidth of %s, and operations %s ps"
	k.Evidence = []string{fmt.Sprintf(words, quantity.Digits(1e3*b.Memory, 3), b.Machine,
		quantity.Digits(1e3*b.Arithmetic, 3))}
	without := func(name string, left float64) {
		if left > 0 {
			gain := max(b.Memory, b.Arithmetic) / left
			k.Variants = append(k.Variants, Variant{Without: name, Gain: gain, Interval: [2]float64{gain, gain}})
		}
	}
	switch {
	case b.Arithmetic >= b.Memory:
		k.Class = ComputeBound
		without(kernel.WithoutArithmetic, b.Memory)
	case b.FitsIn != "":
		k.Evidence = append(k.Evidence, "yet its grids fit in "+b.FitsIn+": only a profile tells what binds it")
	default:
		k.Class = BoundByDRAM
		without(kernel.WithoutDRAM, b.Arithmetic)
	}
	k.share()
	return k
}
