package device

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Tensor is the argument for a buffer parameter that a kernel reads by a tensor map. The map belongs
// to the buffer that the slot has: devices make it when it is first needed.
type Tensor struct {
	Of  *Slot
	Map TensorMap
}

// TensorMap is how a tensor map sees memory, as kernel.Tensor says, for one launch. The last axis is the
// fastest; what is beyond Axes is zeros. Maps that are alike are equal.
type TensorMap struct {
	Elem    types.Type
	Unit    int64 // elements that the map takes for one along the last axis
	Axes    int   // 0 where there is no map
	Extents [kernel.MaxTensorAxes]int64
	Box     [kernel.MaxTensorAxes]int64
}

func (*Tensor) arg() {}

// TensorMapOf returns the tensor map that a parameter describes, for the values of a launch's scalars.
func TensorMapOf(p *kernel.Buffer, env map[*kernel.Var]op.Value) TensorMap {
	t := p.Tensor
	m := TensorMap{Elem: p.Elem, Unit: t.Unit(p.Elem), Axes: len(t.Box)}
	for i, n := range t.Box {
		m.Extents[i], m.Box[i] = kernel.Eval(t.Extents[i], env).I, n
	}
	return m
}
