package device

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Image is the argument for a buffer parameter that a kernel reads as an image.
// The image belongs to the buffer that the slot has: devices make it when it is
// first needed, and give it back with the buffer.
type Image struct {
	Of    *Slot
	Texel Texel
}

// Texel is what one access to an image takes: so many elements of a type.
type Texel struct {
	Elem  types.Type
	Count int
}

// Bytes returns the size.
func (t Texel) Bytes() int64 { return int64(t.Elem.Size() * t.Count) }

// Channels returns how many bytes or 32-bit words make up a texel.
func (t Texel) Channels() (n int, words bool) {
	if t.Elem.Size() == 1 {
		return t.Count, false
	}
	return t.Count * t.Elem.Size() / 4, true
}

// Constant is the argument for a buffer parameter in constant memory whose size
// is known when the kernel is compiled. Devices where that is no argument of a
// launch copy the buffer's contents to the memory of the parameter, once and
// whenever they are pushed: no kernel changes them. The slot keeps its buffer.
type Constant struct {
	Of        *Slot
	Parameter string
}

func (*Image) arg()    {}
func (*Constant) arg() {}

// Argument returns what a kernel's parameter takes for a slot, for the values of the launch's scalars.
func Argument(p *kernel.Buffer, s *Slot, env map[*kernel.Var]op.Value) Arg {
	_, fixed := p.Fixed()
	switch {
	case p.Space == kernel.TensorMap:
		return &Tensor{s, TensorMapOf(p, env)}
	case p.Space == kernel.Image:
		return &Image{s, Texel{p.Elem, p.Texel}}
	case p.Space == kernel.Constant && fixed:
		return &Constant{s, p.Name}
	}
	return s
}
