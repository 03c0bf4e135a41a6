package transform_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

const head = `
parameter M = 9, N = 10;
iterator j, i;
double u[M,N], v[M,N], w[M,N], r;
copyin u, v;
stencil s () {
`

const tail = `
}
s ();
copyout u, v, w;
`

func TestInline(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"one read",
			`double t[M,N]; t[j][i] = u[j][i+1] - u[j][i]; v[j][i] = 2*t[j-1][i+2];`,
			`v[j][i] = 2 * (u[j-1][i+3] - u[j-1][i+2])`},
		{"repeated offsets are temps",
			`double t[M,N]; t[j][i] = u[j][i+1] - u[j][i]; v[j][i] = t[j][i]*t[j][i] + t[j][i-1]/t[j][i-1] + t[j][i+1];`,
			"t = u[j][i+1] - u[j][i]\n" +
				"t_im1 = u[j][i] - u[j][i-1]\n" +
				"v[j][i] = t * t + t_im1 / t_im1 + (u[j][i+2] - u[j][i+1])"},
		{"in a chain, offsets that meet are shared",
			`double lap[M,N], flx[M,N];
			lap[j][i] = u[j][i-1] + u[j][i+1];
			flx[j][i] = lap[j][i+1] - lap[j][i];
			w[j][i] = flx[j][i] - flx[j][i-1];`,
			"lap = u[j][i-1] + u[j][i+1]\n" +
				"w[j][i] = u[j][i] + u[j][i+2] - lap - (lap - (u[j][i-2] + u[j][i]))"},
		{"temps move along",
			`double d = u[j][i+1] - j, t[M,N]; t[j][i] = d*v[j][i]; w[j][i] = t[j-1][i] + d;`,
			"d = u[j][i+1] - j\n" +
				"d_jm1 = u[j-1][i+1] - (j - 1)\n" +
				"w[j][i] = d_jm1 * v[j-1][i] + d"},
		{"a temp that does not vary along the offset stays",
			`double d = 0.5*i, t[M,N]; t[j][i] = d*v[j][i]; w[j][i] = t[j-1][i];`,
			"d = 0.5 * i\n" +
				"w[j][i] = d * v[j-1][i]"},
		{"a grid of fewer axes",
			`double t[N]; t[i] = u[0][i] + i; w[j][i] = t[i+1]*u[j][i] + t[i-1];`,
			"w[j][i] = (u[0][i+1] + (i + 1)) * u[j][i] + (u[0][i-1] + (i - 1))"},
		{"a reduction and a temp read it",
			`double t[M,N]; t[j][i] = 2*u[j][i]; double d = t[j][i+1]; reduce sum r = t[j][i]; w[j][i] = d;`,
			"d = 2 * u[j][i+1]\nr = sum over cells of 2 * u[j][i]\nw[j][i] = d"},
		{"nothing reads it",
			`double t[M,N]; t[j][i] = 2*u[j][i]; w[j][i] = 1;`,
			"w[j][i] = 1"},
		{"the last reader writes a cell that it was computed from",
			`double t[M,N]; t[j][i] = 2*u[j][i]; u[j][i] = t[j][i] + 1;`,
			"u[j][i] = 2 * u[j][i] + 1"},
		{"names that are taken",
			`double t[M,N], t_im1 = v[j][i]; t[j][i] = u[j][i]*v[j][i]; w[j][i] = t[j][i-1]*t[j][i-1] + t_im1;`,
			"t_im1 = v[j][i]\nt_im1_2 = u[j][i-1] * v[j][i-1]\nw[j][i] = t_im1_2 * t_im1_2 + t_im1"},
		{"constants beyond a face of what it reads",
			`double t[M,N]; t[j][i] = 2*u[j][i]; double x[M,N]; x[j][i] = t[j][i+1]; w[j][i] = x[j-1][i];`,
			"w[j][i] = 2 * u[j-1][i+1]"},
	} {
		p := load(t, head+c.body+tail)
		s := p.Calls[0]
		grids, refused := transform.Inlinable(p, s)
		for _, err := range refused {
			t.Errorf("%s: %v", c.name, err)
		}
		got, err := transform.Inline(p, s, grids...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text := statements(p, got.Call); text != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, text, c.want)
		}
		inlined(t, p, map[*ir.Call]*ir.Call{s: got.Call}, nil, 1)
	}
}

// A periodic grid of what is periodic likewise is computed beyond its faces.
func TestInlinePeriodic(t *testing.T) {
	const text = `
parameter M = 5, N = 4;
iterator j, i;
double u[M,N], v[M,N], w[M,N];
boundary u : periodic on j, %s on i;
copyin u, v;
stencil s () {
  double t[M,N], x[M,N];
  boundary t, x : periodic on j, periodic on i;
  %s
}
s ();
copyout w;
`
	for _, c := range []struct{ kind, body, want string }{
		{"periodic",
			"double d = u[j][i+1] - u[j-1][i]; t[j][i] = d*u[j][i]; x[j][i] = t[j][i-3] + t[j+1][i]; w[j][i] = " +
				"x[j][i-7] + x[j][i-7]*x[j-6][i];",
			"d = u[j][i+1] - u[j-1][i]\n" +
				"d_im10 = u[j][i-9] - u[j-1][i-10]\n" +
				"d_jp1_im7 = u[j+1][i-6] - u[j][i-7]\n" +
				"d_jm6_im3 = u[j-6][i-2] - u[j-7][i-3]\n" +
				"d_jm5 = u[j-5][i+1] - u[j-6][i]\n" +
				"x_im7 = d_im10 * u[j][i-10] + d_jp1_im7 * u[j+1][i-7]\n" +
				"w[j][i] = x_im7 + x_im7 * (d_jm6_im3 * u[j-6][i-3] + d_jm5 * u[j-5][i])"},
		{"clamp", "t[j][i] = u[j][i+1]; w[j][i] = t[j][i+1];", ""},
		{"periodic", "t[j][i] = u[j][i+1] + v[j][i]; w[j][i] = t[j][i+1];", ""},
		{"periodic", "t[j][i] = u[j][i+1]*i; w[j][i] = t[j][i+1];", ""},
		{"periodic", "[0:M-1, 1:N-1] : t[j][i] = u[j][i+1]; w[j][i] = t[j][i+1];", ""},
		{"periodic", "double d; [0:M-1, 0:N-1] : d = u[j][i]; t[j][i] = d; w[j][i] = t[j][i+1];", ""},
		{"periodic", "double d = i; t[j][i] = d*u[j][i]; w[j][i] = t[j][i+1];", ""},
	} {
		body := c.body
		if !strings.Contains(body, "x[") {
			body += " x[j][i] = 0;"
		}
		p := load(t, fmt.Sprintf(text, c.kind, body))
		s := p.Calls[0]
		grids, refused := transform.Inlinable(p, s)
		got, err := transform.Inline(p, s, grids...)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want == "" && (len(refused) != 1 || refused[0].Error() != "the local grid t has boundary conditions"):
			t.Errorf("%s: %v", c.body, refused)
		case c.want != "" && (len(refused) > 0 || statements(p, got.Call) != c.want):
			t.Errorf("%s: %v\n%s\nwant\n%s", c.body, refused, statements(p, got.Call), c.want)
		}
		inlined(t, p, map[*ir.Call]*ir.Call{s: got.Call}, nil, 1)
	}
}

func TestInlineRefuses(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`double t[M,N]; boundary t : clamp; t[j][i] = u[j][i]; w[j][i] = t[j][i+1];`,
			"the local grid t has boundary conditions"},
		{`double t[M,N]; t[j][i] = u[j][i]; t[j][i] += 1; w[j][i] = t[j][i+1];`,
			"the local grid t is assigned more than once"},
		{`double t[M,N]; color (j+i) % 2 == each : t[j][i] = u[j][i]; w[j][i] = t[j][i];`,
			"the local grid t is assigned at cells of a colour"},
		{`double t[M,N]; t[j][i] = u[j][i]; w[j][i] = t[j][3];`,
			"the local grid t is read at a fixed index or along another axis"},
		{`double t[M,N]; t[j][i] = u[j][i+1]; u[j][i] = 0; w[j][i] = t[j][i];`,
			"the local grid t is read after u has changed, which it is computed from"},
		{`double t[M,N]; t[j][i] = u[j][i+1]; u[j][i] = t[j][i];`,
			"the local grid t is read after u has changed, which it is computed from"},
		{`double t[M,N]; t[j][i] = u[j][i]; u[j][i] = t[j][i-1];`,
			"the local grid t is read after u has changed, which it is computed from"},
		{`double t[M,N]; t[j][i] = u[j][i]; u[j][i] = t[j][i]; w[j][i] = t[j][i];`,
			"the local grid t is read after u has changed, which it is computed from"},
		{`double t[M,N]; t[j][i] = v[j][i]; double d = t[j][i+1]; v[j][i] = 1; w[j][i] = d;`,
			"the local grid t is read after v has changed, which it is computed from"},
		{`double t[M,N]; t[j][i] = r*v[j][i]; reduce sum r = u[j][i]; w[j][i] = t[j][i];`,
			"the local grid t is read after r has changed, which it is computed from"},
	} {
		p := load(t, head+c.body+tail)
		_, refused := transform.Inlinable(p, p.Calls[0])
		if len(refused) != 1 || refused[0].Error() != c.want {
			t.Errorf("%s: %v, want %s", c.body, refused, c.want)
		}
	}
	p := load(t, head+`double t[M,N]; t[j][i] = u[j][i]; w[j][i] = t[j][i];`+tail)
	s := p.Calls[0]
	if _, err := transform.Inline(p, s, s.Arrays[0]); err == nil ||
		err.Error() != "the local grid "+s.Arrays[0].Name+" is not one of call s" {
		t.Errorf("a grid of the program: %v", err)
	}
}

// Statements say where they come from.
func TestInlineFrom(t *testing.T) {
	p := load(t, head+`double d = 0.5*u[j][i], t[M,N], x[M,N];
		w[j][i] = d;
		t[j][i] = d*v[j][i];
		x[j][i] = t[j][i-1] + 1;
		w[j][i] += x[j-1][i] + x[j-1][i];`+tail)
	s := p.Calls[0]
	grids, _ := transform.Inlinable(p, s)
	got, err := transform.Inline(p, s, grids...)
	if err != nil {
		t.Fatal(err)
	}
	want := "0 d = 0.5 * u[j][i]\n" +
		"0 d_jm1_im1 = 0.5 * u[j-1][i-1]\n" +
		"1 w[j][i] = d\n" +
		"3 x_jm1 = d_jm1_im1 * v[j-1][i-1] + 1\n" +
		"4 w[j][i] = w[j][i] + (x_jm1 + x_jm1)\n"
	var text strings.Builder
	for i, st := range got.Call.Body {
		fmt.Fprintf(&text, "%d %s\n", got.From[i], p.Infix(st))
	}
	if text.String() != want {
		t.Errorf("%s\nwant\n%s", text.String(), want)
	}
}

// Growth has a limit.
func TestInlineLimit(t *testing.T) {
	var sum, reads strings.Builder
	for k := range 100 {
		fmt.Fprintf(&sum, " + %d*u[j][i+%d]", k, k%7)
	}
	for k := range 30 {
		fmt.Fprintf(&reads, " + t[j+%d][i+%d]", k%6, k/6)
	}
	p := load(t, strings.Replace(head, "M = 9, N = 10", "M = 30, N = 30",
		1)+"double t[M,N]; t[j][i] = 0"+sum.String()+"; w[j][i] = 0"+reads.String()+";"+tail)
	s := p.Calls[0]
	grids, refused := transform.Inlinable(p, s)
	want := "the local grid t would make the call grow from 462 to 12061 terms; at most 8192 are allowed"
	if len(grids) != 0 || len(refused) != 1 || refused[0].Error() != want {
		t.Errorf("%d grids, %v", len(grids), refused)
	}
}

// A chain of grids that each read the one before at four places stays small:
// the places meet.
func TestInlineChain(t *testing.T) {
	text := "double a[M,N]; a[j][i] = u[j][i];\n"
	last := "a"
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		text += "double " + name + "[M,N]; " + name + "[j][i] = " + last + "[j][i]*" + last + "[j-1][i] + " + last +
			"[j][i-1]*" + last + "[j-1][i-1];\n"
		last = name
	}
	p := load(t, head+text+"w[j][i] = "+last+"[j][i];"+tail)
	s := p.Calls[0]
	grids, refused := transform.Inlinable(p, s)
	got, err := transform.Inline(p, s, grids...)
	if err != nil || len(refused) != 0 || len(grids) != 8 {
		t.Fatal(err, refused, len(grids))
	}
	// The k-th link before the last is needed at (k+1)^2 places, at all but four
	// of them more than once.
	if want := (64 - 4) + (49 - 4) + (36 - 4) + (25 - 4) + (16 - 4) + (9 - 4) + 1; len(got.Call.Body) != want {
		t.Errorf("%d statements, want %d", len(got.Call.Body), want)
	}
	inlined(t, p, map[*ir.Call]*ir.Call{s: got.Call}, nil, 1)
}

// inlined holds a program with other calls to what it was: it verifies, and
// the reference executor makes the same bits of it at every cell.
func inlined(t testing.TB, p *ir.Program, became map[*ir.Call]*ir.Call, b *ir.Binding, seed uint64) {
	t.Helper()
	q, err := transform.Program(p, func(s *ir.Call) (*ir.Call, error) {
		if to := became[s]; to != nil {
			return to, nil
		}
		return s, nil
	})
	if err == nil {
		err = ir.Verify(q)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, ir.Text(p))
		return
	}
	if b == nil {
		b, _ = p.Bind(nil)
	}
	want, err := run(p, b.Params, b, interp.NoBounds, seed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(q, b.Params, b, interp.NoBounds, seed)
	if err == nil {
		err = compare(p, want, got)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, ir.Text(q))
	}
}

// Any of the grids that can be inlined may be, in any program: no bit changes.
func TestInlineRandomPrograms(t *testing.T) {
	done, refusals := 0, 0
	for seed := range uint64(250) {
		c, err := gen.Make(seed, gen.Options{Size: 4 + int(seed%8)})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 7))
		became := map[*ir.Call]*ir.Call{}
		for _, s := range c.Program.Calls {
			grids, refused := transform.Inlinable(c.Program, s)
			refusals += len(refused)
			if rng.IntN(3) == 0 { // some of them
				rng.Shuffle(len(grids), func(i, j int) { grids[i], grids[j] = grids[j], grids[i] })
				grids = grids[:(len(grids)+1)/2]
			}
			if len(grids) == 0 {
				continue
			}
			to, err := transform.Inline(c.Program, s, grids...)
			if err != nil {
				continue // one is only possible without another
			}
			became[s] = to.Call
			done += len(grids)
		}
		if len(became) == 0 {
			continue
		}
		for _, set := range c.Sets[:min(2, len(c.Sets))] {
			if b, _ := c.Program.Bind(set); b != nil {
				inlined(t, c.Program, became, b, seed)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, c.Source)
		}
	}
	if done < 40 || refusals < 40 {
		t.Errorf("only %d grids were inlined and %d refused", done, refusals)
	}
}
