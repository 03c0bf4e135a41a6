package costmodel

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Least returns the seconds that launches take at least, one after the other: each of them moves every element of its
// grids once, as fast as memory is, and issues all its instructions. Caches that keep a grid from one launch to the
// next are not counted. The error says what cannot be counted.
func Least(launches []*kernel.Launch, b *ir.Binding, m *machine.Machine) (float64, error) {
	sum := 0.0
	for _, l := range launches {
		w, err := WorkOf(l, b)
		if err != nil {
			return 0, err
		}
		t := NewTerms(w, 1, m, Known{})
		sum += max(w.Once/(m.Memory.Bandwidth*1e9), t.Issue, t.Arithmetic)
	}
	return sum, nil
}
