package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// fusionText prints groups as the targets of their statements, with notes:
// "r a / b+r(copy a)" is a group of r and a, then one that evaluates r again
// and needs a copy of a; "r:array" is a materialised temp.
func fusionText(f *Fusion) string {
	var groups []string
	for _, g := range f.Groups {
		var names []string
		for _, s := range g.Stmts {
			name := target(s)
			for _, u := range f.Temps {
				if u.Stmt == s && u.Place == Materialised {
					name += ":array"
				}
			}
			names = append(names, name)
		}
		text := strings.Join(names, " ")
		for _, s := range g.Recompute {
			text += "+" + target(s)
		}
		for _, a := range g.Snapshot {
			text += " (copy " + a.Name + ")"
		}
		if g.InPlace {
			text += " (in place)"
		}
		groups = append(groups, text)
	}
	return strings.Join(groups, " / ")
}

func TestFusableGroups(t *testing.T) {
	for _, c := range []struct{ name, head, body, want string }{
		{"independent", "", "a[k][j][i] = b[k][j][i+1]; c[k][j][i] = b[k][j][i-1];", "a c"},
		{"read at the cell", "", "a[k][j][i] = b[k][j][i+1]; c[k][j][i] = a[k][j][i];", "a c"},
		{"read beside", "", "a[k][j][i] = b[k][j][i]; c[k][j][i] = a[k][j][i+1];", "a / c"},
		{"overwritten beside", "", "a[k][j][i] = b[k][j][i+1]; b[k][j][i] = c[k][j][i];", "a / b"},
		{"overwritten at the cell", "", "a[k][j][i] = b[k][j][i]; b[k][j][i] = c[k][j][i];", "a b"},
		{"written twice", "", "a[k][j][i] = b[k][j][i]; a[k][j][i] += c[k][j][i];", "a a"},
		{"planes apart", "",
			"[0:0,0:N-1,0:N-1] : a[k][j][i] = a[2][j][i]; [1:1,0:N-1,0:N-1] : a[k][j][i] = a[2][j][i];", "a a"},
		{"plane read that is written", "",
			"[2:2,0:N-1,0:N-1] : a[k][j][i] = b[k][j][i]; [1:1,0:N-1,0:N-1] : c[k][j][i] = a[2][j][i];", "a / c"},
		{"the plane of the cell", "",
			"[2:2,0:N-1,0:N-1] : a[k][j][i] = b[k][j][i]; [2:2,0:N-1,0:N-1] : c[k][j][i] = a[2][j][i];", "a c"},
		{"in place across", "", "[0:0,0:N-1,0:N-1] : a[k][j][i] = a[k+1][j][i];", "a"},
		{"other axes", "", "p[i] = s; a[k][j][i] = b[k][j][i]; p[i] = t;", "p / a / p"},
		{"scalar local", "", "double r = b[k][j][i+1]; a[k][j][i] = r; c[k][j][i] = r*r;", "r a c"},
		{"scalar local of the next loop", "",
			"a[k][j][i] = b[k][j][i]; double r = b[k][j][i]; c[k][j][i] = r + a[k][j][i+1];", "a / r c"},
		{"scalar local again", "", "double r = b[k][j][i]; a[k][j][i] = r; c[k][j][i] = r + a[k][j][i+1];",
			"r a / c+r"},
		{"scalar locals again", "",
			"double r = b[k][j][i]; double q = 2*r; a[k][j][i] = q; c[k][j][i] = q + a[k][j][i+1];", "r q a / c+r+q"},
		{"uniform again", "", "double r = s*t; a[k][j][i] = r; c[k][j][i] = r + a[k][j][i+1]; p[i] = r;",
			"r a / c+r / p+r"},
		{"old value kept, at the cell", "", "double r = b[k][j][i]; b[k][j][i] = s; a[k][j][i] = r;", "r b a"},
		{"reduction with its producer", "", "a[k][j][i] = b[k][j][i]; reduce sum s = a[k][j][i];", "a s"},
		{"result of a reduction", "", "reduce sum s = b[k][j][i]; a[k][j][i] = s;", "s / a"},
		{"result through a local", "", "reduce sum s = b[k][j][i]; double r = 2*s; a[k][j][i] = r;", "s / r a"},
		{"value before a reduction", "", "a[k][j][i] = s; reduce sum s = b[k][j][i];", "a s"},
		{"two reductions", "", "reduce sum s = b[k][j][i]; reduce max t = b[k][j][i];", "s t"},
		{"one result twice", "", "reduce sum s = b[k][j][i]; reduce max s = b[k][j][i];", "s / s"},
		{"boundary value", "boundary b : constant(s);", "reduce sum s = a[k][j][i]; c[k][j][i] = b[k][j][i];", "s / c"},
		{"boundary at the cell", "boundary a : clamp;", "a[k][j][i] = b[k][j][i]; c[k][j][i] = a[k][j][i];", "a c"},
		{"boundary may lead elsewhere", "double d[N+2,N,N]; boundary a : clamp;",
			"a[k][j][i] = s; d[k][j][i] = a[k][j][i];", "a / d"},
		{"constant leads nowhere", "double d[N+2,N,N]; boundary a : constant(0);",
			"a[k][j][i] = s; d[k][j][i] = a[k][j][i];", "a d"},
		{"red and black", "", "color (k+j+i) % 2 == each : a[k][j][i] = a[k][j][i+1] + a[k-1][j][i];",
			"a (in place) / a (in place)"},
		{"red and black with a local", "",
			"double r = b[k][j][i+1]; color (k+j+i) % 2 == 0 : a[k][j][i] = r + a[k][j][i+1];", "r a (in place)"},
		{"local for red cells alone", "",
			"double r = a[k][j][i+1] - a[k][j][i]; color (k+j+i) % 2 == 0 : a[k][j][i] = r;", "r / a"},
		{"four colours", "", "color (j+2*i) % 4 == 1 : a[k][j][i] = a[k][j][i+1] + a[k][j+1][i];", "a (in place)"},
		{"coloured, not in place", "",
			"color (k+j+i) % 2 == 0 : a[k][j][i] = b[k][j][i+1]; color (k+j+i) % 2 == 1 : a[k][j][i] = c[k][j][i+1];",
			"a a"},
	} {
		p, call := oneCall(t, c.head, c.body)
		if got := fusionText(FusableGroups(p.Calls[0])); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if call.Fusion == nil || len(call.Groups) != strings.Count(c.want, "/")+1 {
			t.Errorf("%s: %d groups in the facts", c.name, len(call.Groups))
		}
	}
}

// TestFusableGroupsOfIR has what no source text leads to.
func TestFusableGroupsOfIR(t *testing.T) {
	for _, c := range []struct{ name, temps, body, want string }{
		{"in place beside", "", "(set a (load a k j i-1)) (set b (load c k j i))", "a (copy a) / b"},
		{"in place beside, last", "r",
			"(set b (load c k j i)) (let r (load c k j i)) (set a (add (load a k j i-1) (temp r)))",
			"b / r a (copy a)"},
		{"old value kept", "r", "(let r (load b k j i+1)) (set b (scalar s)) (set a (temp r))", "r:array / b a"},
		{"old value kept, at the cell", "r", "(let r (load b k j i)) (set b (scalar s)) (set a (temp r))", "r b a"},
		{"old value for the next loop", "r",
			"(let r (load b k j i)) (set b (scalar s)) (set a (temp r)) (set c (add (temp r) (load a k j i+1)))",
			"r:array b a / c"},
		{"of what is kept", "r q",
			"(let r (load b k j i)) (let q (mul (temp r) (temp r))) (set b (scalar s)) (set a (temp q)) (set c (add " +
				"(temp q) (load a k j i+1)))", "r q:array b a / c"},
		{"kept and again", "r q",
			"(let r (load b k j i)) (let q (mul (temp r) (load c k j i))) (set b (scalar s)) (set a (temp q)) (set a " +
				"(add (temp q) (load a k j i+1)))", "r q:array b a / a (copy a)"},
		{"in place through a local", "r", "(let r (load a k j i+1)) (set a (temp r))", "r:array / a"},
		{"lower-dimensional local kept", "r", "(let r (load p i)) (set a (temp r)) (set p (scalar s)) (set b (temp r))",
			"r:array / a / p / b"},
		{"reduced twice", "r",
			"(let r (scalar s)) (set a (temp r)) (reduce (load b k j i)) (set c (add (temp r) (scalar s)))",
			"r:array / a s / c"},
		{"local for red cells alone", "r", "(let r (sub (load a k j i+1) (load a k j i))) RED (temp r))",
			"r a (in place)"},
		{"local for red and black", "r", "(let r (load a k j i+1)) RED (temp r)) BLACK (temp r))",
			"r:array / a (in place) / a (in place)"},
		{"same colour", "", "RED (load a k+1 j i-1))", "a (copy a) (in place)"},
		{"red, then black", "", "RED (load a k j i+1)) BLACK (load a k-1 j i+1))",
			"a (in place) / a (copy a) (in place)"},
		{"nothing needs it", "r", "(let r (load a k j i+1)) (set a (scalar s))", "r a"},
	} {
		body := strings.NewReplacer("RED", "(set a (color 2 0 1 1 1) ", "BLACK",
			"(set a (color 2 1 1 1 1) ").Replace(c.body)
		p := irCall(t, c.temps, body)
		if got := fusionText(FusableGroups(p.Calls[0])); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOtherColor: whether a coloured statement may read beside itself in place,
// when the grid has a boundary.
func TestOtherColor(t *testing.T) {
	n := ir.ParamAffine(0)
	for _, c := range []struct {
		kind   ir.BoundaryKind
		cells  ir.Affine
		offset int64
		mod    int64
		want   bool
	}{
		{ir.None, n, 1, 2, true},
		{ir.None, n, 2, 2, false},
		{ir.None, n, 2, 3, true},
		{ir.Constant, n, 3, 2, true},
		{ir.Clamp, n, 1, 2, true},
		{ir.Clamp, n, -1, 2, true},
		{ir.Clamp, n, 3, 2, false}, // 1 from the edge, it reads the cell 2 away
		{ir.Clamp, n, 2, 3, true},
		{ir.Mirror, n, -1, 2, true},  // the edge cell reads itself
		{ir.Mirror, n, -3, 2, false}, // the edge cell reads the one 2 away
		{ir.Mirror, n, 2, 3, true},
		{ir.Reflect, n, 1, 2, true},
		{ir.Reflect, n, -3, 2, true}, // parity is kept, and a dimension of 1 clamps
		{ir.AntiReflect, n, 2, 3, true},
		{ir.Periodic, n, 1, 2, false}, // an odd lap leads to the same colour
		{ir.Periodic, n.Times(2), 1, 2, true},
		{ir.Periodic, n.Times(2).Add(1), 1, 2, false},
		{ir.Periodic, n.Times(2), 3, 2, false}, // with 2 cells, more than a lap
		{ir.Periodic, n.Times(2).Add(2), 3, 2, true},
		{ir.Periodic, n.Times(3).Add(2), 1, 3, true},
		{ir.Periodic, n.Times(3).Add(2), -1, 3, true},
		{ir.Periodic, n.Times(3).Add(1), 1, 3, false},
		{ir.Periodic, ir.Num(6), 1, 2, true},
		{ir.Periodic, ir.Num(7), 1, 2, false},
		{ir.Periodic, ir.Num(1), 1, 2, false}, // it reads itself; not seen
	} {
		face := ir.Boundary{Kind: c.kind}
		a := &ir.Array{Name: "a", Dims: []ir.Dim{{Axis: 0, Lo: ir.Num(0), Hi: c.cells.Add(-1),
			Faces: ir.Faces{Low: face, High: face}}}}
		acc := &ir.Access{Array: a, Index: []ir.Index{{Axis: 0, Offset: c.offset}}}
		color := &ir.Color{Coef: []int64{1}, Mod: c.mod}
		if got := otherColor(acc, Cells{a.ExtentBox(1), color}, color); got != c.want {
			t.Errorf("%v, %+v cells, offset %d modulo %d: %t", c.kind, c.cells, c.offset, c.mod, got)
		}
	}
}

// TestTempCells: where a loop has to evaluate a temp.
func TestTempCells(t *testing.T) {
	p, _ := oneCall(t, "", `double r = b[k][j][i];
[0:N-1,0:N-1,2:3] : a[k][j][i] = r;
[0:N-1,0:N-1,2:3] : c[k][j][i] = r;
color (k+j+i) % 2 == 1 : a[k][j][i] += r;`)
	call := p.Calls[0]
	u := FusableGroups(call).Temps[0]
	var got []string
	for _, axes := range [][]int{{0, 1, 2}, {0, 2}} {
		for _, c := range u.Cells(axes) {
			text := fmt.Sprint(axes, " ", domainText(p, c.Box))
			if c.Color != nil {
				text += ", " + colorText(p, c.Color)
			}
			got = append(got, text)
		}
	}
	want := []string{
		"[0 1 2] k 0..N-1, j 0..N-1, i 2..min(N-1, 3)",
		"[0 1 2] k 0..N-1, j 0..N-1, i 0..N-1, (k+j+i) % 2 == 1",
		"[0 2] k 0..N-1, i 2..min(N-1, 3)",
		"[0 2] k 0..N-1, i 0..N-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFewestGroups: no partition into runs that the rules allow has fewer
// groups. The reference tries them all.
func TestFewestGroups(t *testing.T) {
	for _, body := range []string{
		"a[k][j][i] = b[k][j][i]; double r = b[k][j][i]; double q = a[k][j][i+1]; c[k][j][i] = r + q;",
		"double r = a[k][j][i+1]; a[k][j][i] = s; double q = a[k][j][i]; b[k][j][i] = q + r; c[k][j][i] = b[k][j+1][i];",
		"p[i] = 1; double r = p[i]; a[k][j][i] = r; double q = a[k][j][i]; p[i] = 2; b[k][j][i] = q + r;",
	} {
		p, _ := oneCall(t, "", body)
		call := p.Calls[0]
		f := &fuser{call: call, deps: newReads(call), square: map[*ir.Stmt]bool{}}
		n := len(call.Body)
		best := make([]int, n+1) // fewest groups of the last n-i statements
		for i := n - 1; i >= 0; i-- {
			best[i] = n + 1
			for j := i + 1; j <= n; j++ {
				ok := true
				for k := i + 1; k < j; k++ {
					ok = ok && joins(f, i, k)
				}
				if ok {
					best[i] = min(best[i], 1+best[j])
				}
			}
		}
		if got := len(f.cut()); got != best[0] {
			t.Errorf("%s: %d groups, %d would do", body, got, best[0])
		}
	}
}

func TestSeparateGroups(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"independent", "a[k][j][i] = b[k][j][i+1]; c[k][j][i] = b[k][j][i-1];", "a / c"},
		{"scalar local of both", "double r = b[k][j][i]; a[k][j][i] = r; c[k][j][i] = r;", "r a / c+r"},
		{"scalar local of the old value", "double r = a[k][j][i]; a[k][j][i] = 2*r; c[k][j][i] = r;", "r / a / c"},
		{"scalar local of the new value", "a[k][j][i] = b[k][j][i]; double r = a[k][j][i]; c[k][j][i] = r;", "a / r c"},
	} {
		p, _ := oneCall(t, "", c.body)
		if got := fusionText(SeparateGroups(p.Calls[0])); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
