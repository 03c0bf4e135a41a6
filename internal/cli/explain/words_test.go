package explain

import "testing"

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"}, {number(16), "16"}, {number(1.0 / 3), "0.3333"}, {number(999.96), "1000"},
		{number(25846.7), "25847"}, {number(0.00004567), "4.567e-05"},
		{size(0), ""}, {size(999), "999 B"}, {size(1000), "1 kB"}, {size(134217728), "134 MB"}, {size(999999), "1 MB"},
		{size(1 << 50), "1.13 PB"},
		{seconds(2), "2 s"}, {seconds(0.0123456), "12.35 ms"}, {seconds(3.2e-6), "3.2 us"}, {seconds(4e-10), "0.4 ns"},
		{count(1, "flop"), "1 flop"}, {count(0.5, "flop"), "0.5 flops"}, {count(2, "a", "b"), "2 b"},
		{clip("12345", 5), "12345"}, {clip("123456", 5), "12..."},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestReachText(t *testing.T) {
	for _, c := range []struct {
		offsets [][]int64
		want    string
	}{
		{nil, ""},
		{[][]int64{{0, 0}}, ""},
		{[][]int64{{-1, 0}, {1, 1}, {0, -1}}, "box ±1"},
		{[][]int64{{-1, 0}, {1, 0}, {0, 1}, {0, -1}}, "±1"},
		{[][]int64{{-1, 0}, {0, 2}}, "j-1 i+2"},
		{[][]int64{{-1, 1}, {0, 0}, {1, -1}}, "(j-1 i+1) (j+1 i-1)"},
		{[][]int64{{1, 1}}, "(j+1 i+1)"},
		{[][]int64{{1, 1}, {0, -1}}, "(j+1 i+1) (i-1)"},
		{[][]int64{{-1, 0}, {1, 0}}, "j±1"},
		{[][]int64{{0, 0}, {1, -2}}, "(j+1 i-2)"},
		{[][]int64{{2, 1}}, "(j+2 i+1)"},
		{[][]int64{{-1, 3}, {2, 3}}, "(j-1 i+3) (j+2 i+3)"},
		{[][]int64{{1, 0}, {0, 1}}, "+1"},
	} {
		if got := reachText([]string{"j", "i"}, c.offsets); got != c.want {
			t.Errorf("%v: %q, want %q", c.offsets, got, c.want)
		}
	}
}

// Labels of reads that lead to one statement do not lie on each other.
func TestLabelsKeepApart(t *testing.T) {
	g := &graph{}
	to := g.add(box("o", "9 flops", "", "output"))
	for n := range 9 {
		from := g.add(box(string(rune('a'+n)), "double j i", "", "input"))
		g.link(from, to, reachText([]string{"j", "i"}, [][]int64{{-1, int64(n + 1)}, {2, -3}}), false)
	}
	g.nodes = append(g.nodes[1:], to)
	g.widen()
	g.layout()
	for _, e := range g.edges {
		for _, f := range g.edges {
			apart := max(e.end-f.end, f.end-e.end)
			if e != f && e.turn%2 == f.turn%2 && apart < (labelWidth(e.label)+labelWidth(f.label))/2 {
				t.Errorf("%q and %q are %.0f apart", e.label, f.label, apart)
			}
		}
	}
}
