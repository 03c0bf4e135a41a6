package ir

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func values(set string) map[string]string {
	out := map[string]string{}
	for _, s := range strings.Fields(set) {
		name, value, _ := strings.Cut(s, "=")
		out[name] = value
	}
	return out
}

func TestBindValues(t *testing.T) {
	p := readProgram(t, `(program p
	  (axes i)
	  (param M (add (param N) (i32 2)))
	  (param N (i32 8))
	  (scalar h f64 used (init (div (f64 1) (cast f64 (param N)))))
	  (scalar dt f32 used (init (cast f32 (mul (f64 0.5) (mul (scalar h) (scalar h))))))
	  (scalar n i32 argument used)
	  (scalar unread f64 argument)
	  (scalar r f64 reduced used)
	  (grid u f64 (dim i -1 M))
	  (body))`)
	for _, c := range []struct{ set, params, scalars, shape string }{
		{"n=3", "[10 8]", "0.125 0.0078125 3 0 0", "[12]"},
		{"N=4 n=-3", "[6 4]", "0.25 0.03125 -3 0 0", "[8]"},
		{"M=1 n=0 h=0.1 unread=2", "[1 8]", "0.1 0.005 0 2 0", "[3]"},
	} {
		b, errs := p.Bind(values(c.set))
		if errs != nil {
			t.Errorf("%s: %s", c.set, errs[0].Message)
			continue
		}
		var scalars []string
		for _, v := range b.Scalars {
			scalars = append(scalars, v.String())
		}
		if got := fmt.Sprint(b.Params); got != c.params {
			t.Errorf("%s: parameters %s, want %s", c.set, got, c.params)
		}
		if got := strings.Join(scalars, " "); got != c.scalars {
			t.Errorf("%s: scalars %s, want %s", c.set, got, c.scalars)
		}
		if got := fmt.Sprint(b.Shape(p.Grids[0].Dims)); got != c.shape {
			t.Errorf("%s: the shape is %s, want %s", c.set, got, c.shape)
		}
	}
}

func TestBindErrors(t *testing.T) {
	p := readProgram(t, `(program p
	  (axes i) (param N) (param M (i32 4))
	  (scalar alpha f32 used (init (f32 1))) (scalar n i32 argument used) (scalar on bool used (init (bool true))) (scalar b u8 used (init (u8 0)))
	  (grid u f64 (dim i 0 M-1 (low clamp)) (dim _ 0 N-1))
	  (grid v f64 (dim i 0 N-3))
	  (stage s (array u read (grid u)) (array v written (grid v))
	    (set v (over i) (domain (i (lo 1) (hi N-3))) (load u 2 3)))
	  (body (run s)))`)
	for _, c := range []struct{ set, want string }{
		{"N=8 n=1", ""},
		{"n=1", "the parameter N has no value; give it with --set N=..."},
		{"", "the parameter N and the scalar n have no values; give them with --set N=... --set n=..."},
		{"N=8", "the scalar n has no value; give it with --set n=..."},
		{"N=8 n=1 alhpa=2", "the program has no parameter or scalar called alhpa; did you mean alpha?"},
		{"N=8 n=1 zzz=2", "the program has no parameter or scalar called zzz; it has N, M, alpha, n, on, b"},
		{"N=x n=1", "N = x: a size is a whole number"},
		{"N=0 n=1", "N = 0: a parameter is at least 1 and at most 2147483647"},
		{"N=4294967296 n=1", "N = 4294967296: a parameter is at least 1 and at most 2147483647"},
		{"N=8 n=1.5", "n = 1.5: not a whole number that an int can hold"},
		{"N=8 n=4294967296", "n = 4294967296: not a whole number that an int can hold"},
		{"N=8 n=1 b=256", "b = 256: not a whole number that a byte can hold"},
		{"N=8 n=1 on=2", "on = 2: a bool is true or false"},
		{"N=8 n=1 alpha=1e99", "alpha = 1e99: not a number that a float can hold"},
		{"N=2 n=1", "v has no cells: its dimension 1 holds 0 to -1"},
		{"N=2000000000 M=2000000000 n=1", "u is too large: it would take more than 1125899906842624 bytes"},
		{"N=3 n=1", "this statement has no cells to work on: on i its domain is 1 to 0"},
		{"N=8 M=2 n=1", "index 2 of u is outside 0 to 1"},
		{"N=4 M=3 n=1", ""},
	} {
		_, errs := p.Bind(values(c.set))
		got := ""
		if errs != nil {
			got = errs[0].Message
			if errs[0].Hint != "" {
				got += "; " + errs[0].Hint
			}
		}
		if got != c.want {
			t.Errorf("%s:\n  got  %s\n  want %s", c.set, got, c.want)
		}
	}
}

func TestParseScalar(t *testing.T) {
	for _, c := range []struct {
		t          types.Type
		text, want string
	}{
		{types.F32, "0.1", "0.1"}, {types.F64, "1e-3", "0.001"}, {types.F64, "-inf", "-Inf"},
		{types.I32, "-2147483648", "-2147483648"}, {types.U8, "255", "255"}, {types.Bool, "false", "false"},
		{types.Bool, "1", "true"},
	} {
		v, err := ParseScalar(c.t, c.text)
		if err != nil || v.String() != c.want || v.T != c.t {
			t.Errorf("%v from %s is %v, %v", c.t, c.text, v, err)
		}
	}
}

func TestInferDomain(t *testing.T) {
	p := readProgram(t, `(program p (axes j i) (param N)
	  (grid u f64 (dim j 0 N-1 (low clamp)) (dim i 0 N-1)) (grid f f64 (dim i 0 N+1)) (grid v f64 (dim j 0 N-1) (dim i -1 N))
	  (stage s (array u read (grid u)) (array f read (grid f)) (array v written (grid v))
	    (local t f64 read (dim i 0 N-1 (high periodic)) (box (i (lo 2) (hi N-3))))
	    (temp c f64 (box (j (lo 3))))
	    (let c (pos j))
	    (set v (load u j-1 i+2)) (set v (load u j+1 i-1)) (set v (add (load f i+1) (load t i+1))) (set v (add (temp c) (load u 0 i))))
	  (body))`)
	s := p.Calls[0]
	v := s.Arrays[2]
	user := Unbounded(2)
	user[1] = Range{Lo: []Affine{Num(1)}, Hi: []Affine{Num(5)}}
	for k, c := range []struct {
		reduction bool
		user      Box
		want      string
	}{
		{false, nil, "(d (j (lo 0) (hi N-1)) (i (lo -1) (hi N-3)))"},
		{true, nil, "(d (j (lo 0) (hi N-2)) (i (lo 1) (hi N-1)))"},
		{false, user, "(d (j (lo 0) (hi N-1)) (i (lo 1) (hi N 5)))"},
		{false, nil, "(d (j (lo 3) (hi N-1)) (i (lo 0) (hi N-1)))"},
	} {
		target := v
		if c.reduction {
			target = nil
		}
		box := InferDomain(2, target, c.reduction, s.Body[k+1].Value, c.user)
		if got := (printer{p}).box("d", box).String(); got != c.want {
			t.Errorf("statement %d: got %s, want %s", k+1, got, c.want)
		}
	}
	read := s.Body[1].Value
	if lo, hi, ok := Offsets(read, s.Arrays[0], 1); lo != 2 || hi != 2 || !ok {
		t.Errorf("offsets %d to %d, %t", lo, hi, ok)
	}
	if _, _, ok := Offsets(read, v, 1); ok {
		t.Error("an array that is not read has offsets")
	}
	axes := AxesOf(2, s.Body[3].Value, nil)
	if fmt.Sprint(axes) != "[1]" {
		t.Errorf("f[i+1] + t[i+1] varies on %v", axes)
	}
}
