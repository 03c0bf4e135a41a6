package fission_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

var modes = []arith.Mode{arith.Strict, arith.Contract, arith.Fast}

// sharing makes the version cire of a text; nil if there is nothing to share.
func sharing(t testing.TB, text string, mode arith.Mode) *fission.Version {
	t.Helper()
	v, err := fission.Make(fission.CIREVersion, diag.NewSource("t.loom", text), mode)
	if err != nil {
		t.Fatalf("%v: %v\n%s", mode, err, text)
	}
	return v
}

// same returns an error if a text computes something else than another in a mode of arithmetic: to the bit, and under
// fast within what that promises.
func same(t testing.TB, one, other string, set map[string]string, mode arith.Mode, seed uint64) error {
	if mode != arith.Fast {
		return equal(one, other, set, 2*seed+map[arith.Mode]uint64{arith.Contract: 1}[mode])
	}
	var states []*interp.State
	for n, text := range []string{one, other} {
		_, p := load(t, text)
		b, list := p.In(mode).Bind(set)
		if list.HasErrors() {
			return fmt.Errorf("%s", list[0].Message)
		}
		o := interp.Options{Workers: 1}
		if n == 0 {
			o.Bounds = interp.Fast
		}
		s, err := interp.New(b, o)
		if err != nil {
			return err
		}
		given := map[*ir.Grid]bool{}
		for i, g := range b.Program.Grids {
			if g.CopyIn || g.Constant {
				a := s.Grid(g.Name)
				copy(a.Data, gen.Input(g.Type, a.Len(), seed+uint64(i)))
				given[g] = true
			}
		}
		s.RunInitial(given)
		if err := s.Run(context.Background()); err != nil {
			return err
		}
		states = append(states, s)
	}
	for _, g := range states[0].Program().Grids {
		x, y := states[0].Grid(g.Name), states[1].Grid(g.Name)
		for n := range x.Len() {
			if d := math.Abs(x.At(n) - y.At(n)); d > x.Bound[n] {
				return fmt.Errorf("%s: cell %d is %v, and not %v within %v", g.Name, n, y.At(n), x.At(n), x.Bound[n])
			}
		}
	}
	return nil
}

// Shared values are local grids, on the domain that their readers need. What stays is text, comments included. Calls
// that share other values have a stencil of their own.
func TestWriteShared(t *testing.T) {
	const text = `parameter M = 9, N = 40;
iterator j, i;
double u[M,N], v[M,N], w[M,N], h = 0.5;
boundary u : clamp on j;
copyin u, v, w, h;

// once
#pragma block (32)
stencil flux (inout:b, a, c, h) {  // of two
  shmem c;
  double two = 2*h, x = a[j][i-1], y = exp(two*a[j-1][i]*c[j][i]) + x;  // beside it
  // the other
  b[j][i] += y + h*sum (q in 0..1) exp(two*a[j+q][i]*c[j+1][i]);
  [2:4, 2:N-3] : b[j][i] = x;  // stays
}
flux (v, u, w, h);  // first
[3:M-3, 5:N-2] : flux (w, u, v, 2*h);
flux (v, u, w, h);
copyout v, w;
`
	const want = `
#pragma block (32)
stencil flux_2 (inout:b, a, c, h) {
  // of two
  shmem c;
  double two = 2*h;
  double x = a[j][i-1];
  double a_c[-1:M-2,1:N-1];
  [-1:M-2, 1:N-1] : a_c[j,i] = exp(two*a[j,i]*c[j+1,i]);
  double y = a_c[j-1,i] + x;  // beside it
  // the other
  b[j][i] += y + h*(a_c[j,i] + exp(two*a[j+1,i]*c[j+1,i]));
  [2:4, 2:N-3] : b[j][i] = x;  // stays
}
flux_2 (v, u, w, h);  // first
[3:M-3, 5:N-2] : flux (w, u, v, 2*h);
flux_2 (v, u, w, h);
copyout v, w;
`
	v := sharing(t, text, arith.Contract)
	if v == nil {
		t.Fatal("nothing is shared")
	}
	original, _, _ := strings.Cut(text, "flux (v, u, w, h);")
	if v.Source.Text != original+want {
		t.Errorf("%s", v.Source.Text)
	}
	if err := same(t, text, v.Source.Text, nil, arith.Contract, 1); err != nil {
		t.Error(err)
	}
}

// What examples share, and what that saves: docs/rationale/complex-stencils.md has the table.
var gains = map[string][3]string{ // by mode of arithmetic; "" if nothing is shared
	"addsgd4": {"18: 294 operations become 198, 103 loads 133", "18: 207 operations become 135, 103 loads 133",
		"9: 294 operations become 152, 103 loads 109"},
	"addsgd6": {"15: 356 operations become 161, 151 loads 112", "15: 257 operations become 104, 151 loads 112",
		"15: 356 operations become 131, 151 loads 112"},
	"blur": {"1: 77 operations become 29, 25 loads 10", "1: 77 operations become 29, 25 loads 10",
		"1: 77 operations become 27, 25 loads 10"},
	"canny": {"1: 54 operations become 18, 25 loads 10", "1: 30 operations become 10, 25 loads 10",
		"1: 54 operations become 14, 25 loads 10"},
	"cheby":    {},
	"diffterm": {},
	"hdiff":    {},
	"himeno":   {"", "", "1: 33 operations become 30, 31 loads 29"},
	"hypterm": {"9: 358 operations become 295, 154 loads 172", "",
		"12: 358 operations become 211, 154 loads 160"},
	"life": {"1: 33 operations become 24, 9 loads 7", "1: 33 operations become 24, 9 loads 7",
		"1: 33 operations become 24, 9 loads 7"},
	"rhs4center": {"9: 588 operations become 393, 179 loads 176", "9: 426 operations become 309, 179 loads 167",
		"9: 588 operations become 393, 179 loads 176"},
	"rhs4sgcurv": {"20: 1321 operations become 769, 259 loads 292", "18: 1015 operations become 610, 259 loads 282",
		"20: 1321 operations become 762, 259 loads 281"},
	"rician": {"1: 45 operations become 40, 14 loads 16", "", "1: 45 operations become 40, 14 loads 16"},
	"smooth27": {"2: 32 operations become 20, 27 loads 17", "2: 29 operations become 17, 27 loads 17",
		"3: 32 operations become 18, 27 loads 16"},
	"sw4": {"9: 803 operations become 569, 189 loads 174", "9: 574 operations become 418, 189 loads 177",
		"9: 803 operations become 590, 189 loads 174"},
}

// What examples share, and what that saves; they compute the same, at sizes that are no multiples of anything.
func TestSharedInExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), "examples", err)
	}
	more, err := filepath.Glob("../../tune/eval/bench/cases/spatial/*.loom")
	if err != nil || len(more) < 10 {
		t.Fatal(len(more), "cases", err)
	}
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".loom")
		for n, mode := range modes {
			v := sharing(t, string(data), mode)
			if v == nil {
				if gains[name][n] != "" {
					t.Errorf("%s, %v: nothing is shared", name, mode)
				}
				continue
			}
			t.Logf("%s, %v: %s", name, mode, strings.Join(v.Made, "\n\t"))
			_, gain, _ := strings.Cut(v.Made[0], " shares ")
			if gain = strings.NewReplacer(" values", "", " value", "").Replace(gain); gain != gains[name][n] {
				t.Errorf("%s, %v: %s, and not %s", name, mode, gain, gains[name][n])
			}
			if mode == arith.Strict {
				continue
			}
			if err := same(t, string(data), v.Source.Text, small(t, string(data)), mode, 1); err != nil {
				t.Errorf("%s, %v: %v", name, mode, err)
			}
		}
	}
}

// Random programs compute the same with what they share.
func TestSharedEqualsTheWhole(t *testing.T) {
	equalTheWhole(t, 240, 40, modes[:], func(seed uint64) (*gen.Case, string, error) {
		c, err := gen.MakeAlike(seed)
		if seed%4 == 3 {
			c, err = gen.Make(seed, gen.Options{Size: 10})
		}
		if seed%2 == 0 {
			return c, fission.CIREVersion + "-all", err
		}
		return c, fission.CIREVersion, err
	})
}

// equalTheWhole compares the programs of some seeds with a version of each, in one mode of some after the other. Each
// mode has to have so many programs that have the version.
func equalTheWhole(t *testing.T, seeds uint64, least int, modes []arith.Mode,
	made func(seed uint64) (c *gen.Case, version string, err error)) {
	t.Helper()
	programs := map[arith.Mode]int{}
	for seed := range seeds {
		c, name, err := made(seed)
		if err != nil {
			t.Fatal(err)
		}
		mode := modes[seed%uint64(len(modes))]
		v, err := fission.Make(name, diag.NewSource("t.loom", c.Source), mode)
		if err != nil {
			t.Fatalf("seed %d, %v: %v", seed, mode, err)
		}
		if v == nil {
			continue
		}
		programs[mode]++
		for _, set := range c.Sets {
			if err := same(t, c.Source, v.Source.Text, set, mode, seed); err != nil {
				t.Fatalf("seed %d, %v: %v\n%s\n%s", seed, mode, err, c.Source, v.Source.Text)
			}
		}
	}
	for _, mode := range modes {
		if programs[mode] < least {
			t.Errorf("%v: only %d random programs have the version", mode, programs[mode])
		}
	}
}
