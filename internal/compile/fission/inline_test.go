package fission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/gen"
)

const inlineHead = `
parameter M = 19, N = 23;
iterator j, i;
double u[M,N], v[M,N], f[M,N], out[M,N];
double c = 0.3;
copyin u, v, f, out;
copyout f, out, v;
`

// What calls leave at other cells is computed anew: the text has no read of it there, and the bits are the same.
func TestInline(t *testing.T) {
	for _, c := range []struct{ name, text, want, without string }{
		{"a flux", `
stencil flux (f, u) { f[j][i] = c*(u[j][i] - u[j][i-1])*u[j][i]; }
stencil step (o, f, v) { o[j][i] = v[j][i] - (f[j][i+1] - f[j][i]); }
[1:M-2, 1:N-2] : flux (f, u);
[1:M-2, 1:N-3] : step (out, f, v);
`, "5 become 8, for f at [j,i+1]", "f[j,i+1]"},
		{"locals of the same name, on both sides of the cell, and one that has a grid's name", `
stencil flux (f, u) {
  double w = u[j][i] + 0.5*u[j-1][i], out = w*w;
  f[j][i] = out + w;
}
stencil step (o, f, v) {
  double w = f[j+1][i] + f[j-1][i];
  o[j][i] = w + c*v[j][i] + 0.25*f[j][i];
}
[2:M-3, 0:N-1] : flux (f, u);
[3:M-4, 0:N-1] : step (out, f, v);
`, "9 become 17, for f at [j+1,i], f at [j-1,i]", "f[j+1"},
		{"in a loop, with arguments", `
stencil flux (a, b, s) { a[j][i] = s*b[j][i]*b[j][i+1]; }
stencil step (a, b) { b[j][i] = b[j][i] + 0.1*a[j][i-1]; }
iterate 3 {
  [0:M-1, 1:N-2] : flux (f, u, c + 1);
  [0:M-1, 2:N-2] : step (f, v);
}
`, "5 become 8, for f at [j,i-1]", "f[j,i-1]"},
		{"a grid that is read before it is assigned, and after", `
stencil old (o, f) { o[j][i] = 0.5*f[j][i+1]; }
stencil flux (f, u) { f[j][i] = u[j][i]*u[j][i-1]; }
stencil step (v, f) { v[j][i] = 0.5*v[j][i] + f[j][i+1]; }
[1:M-2, 1:N-3] : old (out, f);
[1:M-2, 1:N-2] : flux (f, u);
[1:M-2, 1:N-3] : step (v, f);
`, "4 become 5, for f at [j,i+1]", "+ f[j,i+1]"},
		{"an argument that is a product", `
stencil flux (f, u, s) { f[j][i] = s + 0.7*u[j][i]; }
stencil step (o, f, s) { o[j][i] = f[j-1][i] - s; }
[1:M-2, 1:N-3] : flux (f, u, c*1.7);
[2:M-2, 1:N-3] : step (out, f, 0.9*c);
`, "", "f[j-1"},
	} {
		text := inlineHead + c.text
		v, err := fission.Make(fission.InlineVersion, diag.NewSource("t.loom", text), arith.Contract)
		if err != nil || v == nil {
			t.Errorf("%s: %v, %v", c.name, v, err)
			continue
		}
		made := strings.ReplaceAll(strings.Join(v.Made, "; "), " operations", "")
		if !strings.HasSuffix(made, c.want) || strings.Contains(v.Source.Text, c.without) || v.Saved >= 0 {
			t.Errorf("%s: %s, saved %g:\n%s", c.name, made, v.Saved, v.Source.Text)
		}
		for seed, mode := range []arith.Mode{arith.Strict, arith.Contract} {
			for _, set := range []map[string]string{nil, {"M": "8", "N": "5"}, {"M": "31", "N": "17"}} {
				if err := same(t, text, v.Source.Text, set, mode, uint64(seed)); err != nil {
					t.Errorf("%s, %v: %v\n%s", c.name, mode, err, v.Source.Text)
				}
			}
		}
	}
}

// Values stay in their grids where they are others than the statement would compute, or too many.
func TestNotInlined(t *testing.T) {
	const flux = "stencil flux (f, u) { f[j][i] = c*(u[j][i] - u[j][i-1]); }\n"
	for name, text := range map[string]string{
		"cells that keep what they had are read": flux + `
stencil step (o, f) { o[j][i] = f[j][i+1]; }
[1:M-2, 1:N-2] : flux (f, u);
[1:M-2, 1:N-2] : step (out, f);`,
		"what the value reads is updated before": flux + `
stencil more (u) { u[j][i] = 2*u[j][i]; }
stencil step (o, f) { o[j][i] = f[j][i+1]; }
[1:M-2, 1:N-2] : flux (f, u);
more (u);
[1:M-2, 1:N-3] : step (out, f);`,
		"a grid is updated by what reads its neighbours' values": flux + `
stencil step (u, f) { u[j][i] = u[j][i] - f[j][i+1]; }
[1:M-2, 1:N-2] : flux (f, u);
[1:M-2, 1:N-3] : step (u, f);`,
		"two statements assign it": flux + `
stencil step (o, f) { o[j][i] = f[j][i+1]; }
[1:M-2, 1:N-2] : flux (f, u);
[3:M-4, 1:N-2] : flux (f, v);
[1:M-2, 1:N-3] : step (out, f);`,
		"a value needs values at other cells": flux + `
stencil next (v, f) { v[j][i] = f[j][i+1] + f[j][i]; }
stencil step (o, v) { o[j][i] = v[j+1][i]; }
[0:M-1, 1:N-1] : flux (f, u);
[0:M-1, 1:N-2] : next (v, f);
[0:M-2, 1:N-2] : step (out, v);`,
		"it has a reduction": flux + `
double most = 0;
stencil step (o, f) { o[j][i] = f[j][i+1]; reduce max most = f[j][i+1]; }
[1:M-2, 1:N-2] : flux (f, u);
[1:M-2, 1:N-3] : step (out, f);`,
		"too much would be computed anew": `
stencil flux (f, u) { f[j][i] = exp(u[j][i])*sin(u[j][i-1])*cos(c + u[j-1][i])*exp(u[j-1][i-1]) - 1; }
stencil step (o, f) { o[j][i] = f[j][i+1] + f[j+1][i] + f[j+1][i+1]; }
[1:M-2, 1:N-2] : flux (f, u);
[1:M-3, 1:N-3] : step (out, f);`,
	} {
		v, err := fission.Make(fission.InlineVersion, diag.NewSource("t.loom", inlineHead+text), arith.Contract)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v == nil {
			continue
		}
		// A part of the calls may be joined: not those that the name is about, and no bit may change.
		if name != "a value needs values at other cells" {
			t.Errorf("%s:\n%s", name, v.Source.Text)
		}
		for _, mode := range []arith.Mode{arith.Strict, arith.Contract} {
			if err := same(t, inlineHead+text, v.Source.Text, nil, mode, 7); err != nil {
				t.Errorf("%s, %v: %v\n%s", name, mode, err, v.Source.Text)
			}
		}
	}
}

// Of the examples miniflux is joined: the others' values cost too much, or there are none.
func TestInlineInExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), "examples", err)
	}
	joined := ""
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := fission.Make(fission.InlineVersion, diag.NewSource(filepath.Base(file), string(data)), arith.Contract)
		if err != nil {
			t.Fatal(file, err)
		}
		if v == nil {
			continue
		}
		joined += fmt.Sprintf("%s %.2f ", filepath.Base(file), 1-v.Saved)
		for _, mode := range []arith.Mode{arith.Strict, arith.Contract} {
			if err := same(t, string(data), v.Source.Text, small(t, string(data)), mode, 1); err != nil {
				t.Errorf("%s, %v: %v", file, mode, err)
			}
		}
	}
	if joined != "miniflux.loom 1.67 " {
		t.Errorf("joined are %s", joined)
	}
}

// Random programs compute the same with what is inlined.
func TestInlinedEqualsTheWhole(t *testing.T) {
	equalTheWhole(t, 160, 50, []arith.Mode{arith.Strict, arith.Contract},
		func(seed uint64) (*gen.Case, string, error) {
			c, err := gen.MakeFaces(seed)
			return c, fission.InlineVersion, err
		})
}
