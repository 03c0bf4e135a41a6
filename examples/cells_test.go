package examples

import (
	"fmt"
	"strings"
	"testing"
)

// pattern draws rows of "#" and "." with its corner at the given cell.
func pattern(row, col int, rows ...string) field {
	return func(at ...int) float64 {
		j, i := at[0]-row, at[1]-col
		if j >= 0 && j < len(rows) && i >= 0 && i < len(rows[j]) && rows[j][i] == '#' {
			return 255
		}
		return 0
	}
}

func draw(m execution, grid string) string {
	var b strings.Builder
	shape := m.Grid(grid).Shape
	for n, v := range m.values(grid) {
		b.WriteByte(".#"[int(v)/255])
		if n%shape[1] == shape[1]-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// A glider moves by one cell down and right in four generations, and so around
// the torus.
func TestLifeGlider(t *testing.T) {
	prog := load(t, "life", nil)
	glider := []string{".#.", "..#", "###"}
	for _, moves := range []int{1, 4, 5, 10} {
		set := fmt.Sprintf("M=10 N=10 generations=%d", 4*moves)
		got := draw(run(t, prog, set, map[string]field{"cells": pattern(1, 2, glider...)}), "cells")
		around := func(at ...int) float64 {
			return pattern(0, 0, glider...)((at[0]-1-moves+20)%10, (at[1]-2-moves+20)%10)
		}
		if want := draw(run(t, prog, "M=10 N=10 generations=0", map[string]field{"cells": around}),
			"cells"); got != want {
			t.Errorf("after %d moves:\n%swant\n%s", moves, got, want)
		}
	}
}

// Rules and seams, against neighbours counted one by one.
func TestLifeRules(t *testing.T) {
	const m, n = 7, 9
	alive := func(at ...int) float64 {
		if noise(3)(at...) > 0.2 {
			return 255
		}
		return 0
	}
	got := run(t, load(t, "life", nil), "M=7 N=9 generations=1", map[string]field{"cells": alive})
	want := func(at ...int) float64 {
		around := 0.0
		for _, d := range [][2]int{{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}, {1, 1}} {
			around += alive((at[0]+d[0]+m)%m, (at[1]+d[1]+n)%n) / 255
		}
		if around == 3 || around == 2 && alive(at...) == 255 {
			return 255
		}
		return 0
	}
	if d := got.worst("cells", want); d != 0 {
		t.Errorf("a cell is wrong:\n%s", draw(got, "cells"))
	}
}

func TestGrayScott(t *testing.T) {
	prog := load(t, "grayscott", nil)
	still := run(t, prog, "M=9 N=8 steps=5", map[string]field{"u": constant(1), "v": constant(0)})
	if d := max(still.worst("u", constant(1)), still.worst("v", constant(0))); d != 0 {
		t.Errorf("the state without v does not last: %g", d)
	}

	// What reacts is kept; feed and kill are all that come and go.
	before, after := run(t, prog, "M=40 N=44 steps=0", nil), run(t, prog, "M=40 N=44 steps=1", nil)
	u, v := before.values("u"), before.values("v")
	fed := 0.037*(float64(len(u))-total(u)) - (0.037+0.06)*total(v)
	near(t, "u + v", total(after.values("u"))+total(after.values("v")), total(u)+total(v)+fed, 1e-10)

	// There is no seam: what grows across one is what grows in the middle.
	seed := func(j, i int) map[string]field {
		spot := func(at ...int) float64 {
			return pattern(0, 0, "######", "#####", "####", "###")((at[0]-j+20)%20, (at[1]-i+20)%20) / 255
		}
		return map[string]field{"u": func(at ...int) float64 { return 1 - spot(at...)/2 },
			"v": func(at ...int) float64 { return spot(at...) / 4 }}
	}
	middle, edge := run(t, prog, "M=20 N=20 steps=50", seed(8, 7)), run(t, prog, "M=20 N=20 steps=50", seed(18, 17))
	if d := edge.worst("v",
		func(at ...int) float64 { return middle.at("v", (at[0]+10)%20, (at[1]+10)%20) }); d > 1e-14 {
		t.Errorf("the seam makes a difference of %g", d)
	}

	grown := run(t, prog, "M=64 N=64 steps=600", nil)
	alive := 0
	for n, v := range grown.values("v") {
		u := grown.Grid("u").At(n)
		if !(u >= 0 && u <= 1 && v >= 0 && v <= 1) {
			t.Fatalf("u = %g, v = %g", u, v)
		}
		if v > 0.2 {
			alive++
		}
	}
	if seeds := 19 * 19; alive == 0 || alive == 64*64 || alive == seeds {
		t.Errorf("there is no pattern: %d cells with v", alive)
	}
}
