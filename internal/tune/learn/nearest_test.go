package learn

import (
	"math"
	"testing"
)

// parabola has examples of x*x, with x in two features, and a third that tells nothing.
func parabola() *Numbers {
	n := &Numbers{Features: []string{"x", "twice", "same"}}
	for i := range 20 {
		x := float64(i)
		n.Rows, n.Targets = append(n.Rows, []float64{x, 2 * x, 1}), append(n.Targets, x*x)
	}
	return n
}

func TestNearest(t *testing.T) {
	m, err := NewNearest(parabola(), 0.95, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Components.Directions) != 1 {
		t.Errorf("%d components of one number", len(m.Components.Directions))
	}
	for i, row := range parabola().Rows {
		if got := m.Predict(row); got != float64(i*i) {
			t.Errorf("%d: %v", i, got)
		}
	}
	if got := m.Predict([]float64{6.3, 12.6, 1}); got != 36 {
		t.Errorf("6.3: %v", got)
	}
	three, err := NewNearest(parabola(), 0.95, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := three.Predict([]float64{6.3, 12.6, 99}), (25.0+36+49)/3; got != want {
		t.Errorf("three: %v, not %v", got, want)
	}
	all, err := NewNearest(parabola(), 0.95, 50)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all.Predict([]float64{0, 0, 1}), 123.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("all: %v, not %v", got, want)
	}
}

func TestNearestRefuses(t *testing.T) {
	holes := parabola()
	holes.Rows[3][1] = math.NaN()
	for name, f := range map[string]func() (*Nearest, error){
		"nothing":       func() (*Nearest, error) { return NewNearest(&Numbers{}, 0.95, 5) },
		"no neighbours": func() (*Nearest, error) { return NewNearest(parabola(), 0.95, 0) },
		"no variance":   func() (*Nearest, error) { return NewNearest(parabola(), 0, 5) },
		"holes":         func() (*Nearest, error) { return NewNearest(holes, 0.95, 5) },
	} {
		if m, err := f(); err == nil || m != nil {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	same := &Numbers{Features: []string{"x"}, Rows: [][]float64{{1}, {1}}, Targets: []float64{2, 4}}
	m, err := NewNearest(same, 0.95, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Predict([]float64{7}); got != 3 {
		t.Errorf("examples that do not differ: %v", got)
	}
}
