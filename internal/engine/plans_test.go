package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

const lineText = `
parameter N = 100;
iterator i;
double u[N], next[N], unused[4*N];
copyin u; copyout u;
stencil s (out, in) { out[i] = in[i+1] + in[i-1]; }
iterate 4 { s (next, u); swap (next, u); }`

func bindLine(t *testing.T, n int) *ir.Binding {
	t.Helper()
	p, list := lang.Load(diag.NewSource("line.loom", lineText))
	if list.HasErrors() {
		t.Fatal(list)
	}
	b, list := p.Bind(map[string]string{"N": fmt.Sprint(n)})
	if list.HasErrors() {
		t.Fatal(list)
	}
	return b
}

// known makes what a store has: "100 plan=seconds ..." for each size.
func known(p *ir.Program, lines ...string) []StoredPlans {
	var list []store.Record
	for _, l := range lines {
		f := strings.Fields(l)
		for _, x := range f[1:] {
			i := strings.LastIndex(x, "=")
			r := store.Record{Session: &session.Session{}}
			r.Session.Sizes, r.Config = session.ParseSizes("N="+f[0]), x[:i]
			fmt.Sscan(x[i+1:], &r.Median)
			list = append(list, r)
		}
	}
	return groupBySizes(p, list)
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{
		{100, "N=100 N=400 N=10"},
		{300, "N=400 N=100 N=10"},
		{20, "N=10 N=100 N=400"},
		{3, "N=10 N=100"},
		{20000, "N=400"},
		{1000000, ""},
	} {
		b := bindLine(t, c.n)
		var got []string
		for _, r := range nearest(known(b.Program, "10 a=1", "100 a=1", "400 a=1", "M=7 a=1"), b) {
			got = append(got, r.Sizes.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("N=%d: %v, want %s", c.n, got, c.want)
		}
	}
}

// Boundaries lie at geometric means, or where measured times cross.
func TestVariantsOfLibrary(t *testing.T) {
	const one, two = "s[0:1]@1{family=loops,block=0,threads=1}", "s[0:1]@1{family=loops,block=0,threads=2}"
	const loops = "s[0:1]@1{family=loops,block=64,threads=1}"
	b := bindLine(t, 100)
	for _, c := range []struct {
		known []string
		want  string // threads or blocks of plans, and from where they are picked
	}{
		{nil, one + " 0"},
		{[]string{"10000 " + two + "=1"}, one + " 0, " + two + " 1000"},
		{[]string{"10000 " + two + "=1 " + one + "=4", "100 " + one + "=1"}, one + " 0, " + two + " 1000"},
		// One thread loses as much at 10000 as two do at 100, or twice as much by logarithms.
		{[]string{"10000 " + two + "=1 " + one + "=4", "100 " + one + "=1 " + two + "=4"},
			one + " 0, " + two + " 1000"},
		{[]string{"10000 " + two + "=1 " + one + "=16", "100 " + one + "=1 " + two + "=4"},
			one + " 0, " + two + " 464"},
		// The same plan for two sizes is one variant.
		{[]string{"400 " + one + "=1", "10000 " + two + "=1"}, one + " 0, " + two + " 2000"},
		{[]string{"4 " + loops + "=1", "10000 " + two + "=1"}, loops + " 0, " + one + " 20, " + two + " 1000"},
		// What cannot be in a library, or is no plan of this program, is left out.
		{[]string{"400 s[0:1]@1{sizes=literals}=1", "10000 " + two + "=1"}, one + " 0, " + two + " 1000"},
		{[]string{"400 other[0:1]@1{family=loops}=1"}, one + " 0"},
	} {
		r := &tuner.Result{Contenders: []tuner.Contender{{Name: "found 1", Plan: one, Seconds: 1}}, Best: one}
		files, list, err := Library(LibraryRequest{Bound: b, Source: "line.loom", Tuned: &Tuned{
			Result: r,
			About:  measure.About{Target: target.OnPaper(emit.C, nil, arith.Contract)},
			Stored: known(b.Program, c.known...),
		}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range list {
			got = append(got, fmt.Sprintf("%s %d", v.Plan, v.From))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q: %q, want %q", c.known, strings.Join(got, ", "), c.want)
		}
		if header := files[0].Text; strings.Contains(header, "line_variant(") != (len(list) > 1) {
			t.Errorf("%q: %s", c.known, header)
		}
	}
}

// Source code takes a plan of the store with kernels that take any size, and none that its program cannot have.
func TestEmitTakesStored(t *testing.T) {
	p := paperJob(t, "h200", twoKernels).Bound.Program
	const plan = "star[0:1]@1{family=tile,sizes=literals};scale[0:1]@1{family=cells,block=8x32}"
	for config, want := range map[string]string{
		plan:                        strings.ReplaceAll(plan, "literals", "arguments"),
		"star[0:1]@1{family=none}":  "",
		"star[0:9]@1{family=cells}": "",
		"no plan{":                  "",
	} {
		r := EmitRequest{Program: p, Dialect: emit.CUDA}
		x := store.Record{}
		x.Config = config
		took := r.take(x)
		if took != (want != "") || r.Plan.String() != want {
			t.Errorf("of %s it takes %v: %q", config, took, r.Plan)
		}
	}
}
