package engine

import (
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

// bothText is a stencil of two outputs, which the version trivial splits.
const bothText = `
parameter N = 64;
iterator j, i;
double a[N,N], b[N,N], c[N,N], d[N,N];
copyin a, b; copyout c, d;
stencil both (c, d, a, b) { c[j][i] = a[j][i-1] + b[j-1][i]; d[j][i] = a[j][i+1] - b[j+1][i]; }
both (c, d, a, b);
`

// A run takes the plan of a version of its program where the store knows it to be the fastest at the run's sizes.
func TestLookUpVersion(t *testing.T) {
	d, err := Open(DeviceRequest{ID: "cpu", Arithmetic: arith.Contract})
	if err != nil {
		t.Skip(err)
	}
	defer d.Close()
	src := diag.NewSource("both.loom", bothText)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(list)
	}
	p = p.In(arith.Contract)
	v, err := VersionOf(src, p, schedule.Plan{}.WithFission("trivial"))
	if err != nil {
		t.Fatal(err)
	}
	bind := func(p *ir.Program, n string) *ir.Binding {
		b, list := p.Bind(map[string]string{"N": n})
		if list.HasErrors() {
			t.Fatal(list)
		}
		return b
	}
	const own, split = "both[0:2]@1{threads=1}", "both_c[0:1]@1{threads=1};both_d[0:1]@1{threads=1}"
	for _, c := range []struct {
		name          string
		whole, parts  float64 // seconds of the plans; 0 for none
		size, version string
		plan          string
	}{
		{"the version is faster", 2, 1, "64", "trivial", split},
		{"the program as it is", 1, 2, "64", "", own},
		{"the version alone", 0, 1, "64", "trivial", split},
		{"nothing", 0, 0, "64", "", ""},
		{"at other sizes times are not compared", 2, 1, "80", "", own},
	} {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			b       *ir.Binding
			plan    string
			seconds float64
		}{{bind(p, "64"), own, c.whole}, {bind(v.Program, "64"), split, c.parts}} {
			if x.seconds == 0 {
				continue
			}
			r, err := s.Begin(t.Context(), session.Search{Scenario: scenario(x.b, describe(d)), Strategy: "auto"})
			if err != nil {
				t.Fatal(err)
			}
			trial := session.Trial{Config: x.plan, Median: x.seconds, Low: x.seconds, High: x.seconds}
			if err := r.Append(t.Context(), &trial); err != nil {
				t.Fatal(err)
			}
			if err := r.Finish(t.Context(), "finished"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		j := Job{Bound: bind(p, c.size), Device: d}
		found, from, err := j.LookUpVersion(t.Context(), path, src, map[string]string{"N": c.size})
		if err != nil {
			t.Fatal(err)
		}
		if (found != nil) != (c.version != "") || (from != nil) != (c.version != "") || j.Version != c.version {
			t.Errorf("%s: %+v", c.name, found)
		}
		if c.version == "" {
			if from, err = j.LookUp(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		} else if j.Whole.Program != p || j.Bound.Program != found.Program {
			t.Errorf("%s: the job is of another program", c.name)
		}
		if j.Plan.String() != c.plan || (j.Origin == Stored) != (c.plan != "") || (from != nil) != (c.plan != "") {
			t.Errorf("%s: %s", c.name, j.Plan)
		}
		j = Job{Bound: bind(p, c.size), Device: d, Origin: Chosen}
		if found, _, err := j.LookUpVersion(t.Context(), path, src, nil); found != nil || err != nil {
			t.Errorf("%s: a chosen plan gives way to %+v, %v", c.name, found, err)
		}
	}
}
