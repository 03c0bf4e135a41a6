package tuner

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// outputs is a stencil that assigns two arrays, with long statements.
const outputs = `
parameter M = 510, N = 512;
iterator j, i;
double a[M,N], b[M,N], c[M,N], d[M,N];
copyin a, b;
copyout c, d;
stencil both (c, d, a, b) {
  c[j][i] = a[j][i-1] + a[j][i+1] + a[j-1][i] + a[j+1][i] + b[j][i-1] + b[j][i+1] + b[j-1][i] + b[j+1][i];
  d[j][i] = a[j][i-1] - a[j][i+1] + a[j-1][i] - a[j+1][i] + b[j][i-1] - b[j][i+1] + b[j-1][i] - b[j+1][i];
}
both (c, d, a, b);
`

// tuneVersions tunes a program and its versions on what is scripted, and returns which versions were tried.
func tuneVersions(t *testing.T, s *scripted, o Options, src *diag.Source) (r *Result, v Version, tried string) {
	t.Helper()
	r, v, err := RunVersions(t.Context(), o, src, func(ctx context.Context, o Options, v Version) (*Result, error) {
		if s.bound = o.Bound; v.Name != "" {
			tried += " " + v.Name
		}
		return Run(ctx, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, v, tried
}

// Where kernels spill, versions of the program are tuned, and plans name the fastest. Where they do not, the program
// has all of the search.
func TestVersions(t *testing.T) {
	src := diag.NewSource("outputs.loom", outputs)
	b := program(t, outputs)
	for _, c := range []struct {
		spills  int
		parts   float64 // seconds of a kernel of a part
		version string
		tried   string
	}{
		{0, 1e-4, "", ""},
		{32, 1e-4, "trivial", " statements trivial"},
		{32, 2e-2, "", " statements trivial"},
	} {
		s := newScripted(t, b, func(plan string) (float64, error) {
			if strings.Contains(plan, "both[") {
				return 1e-2, nil
			}
			return c.parts * float64(strings.Count(plan, "{")), nil
		})
		s.spills = func(plan string) int {
			if strings.HasPrefix(plan, "both[0:2]") {
				return c.spills
			}
			return 0
		}
		o := options(s, b, 8)
		o.Lab, o.MaxDepth, o.Plan = gpu(t, s), 1, plan(t, "family=cells")
		var results int
		o.Events = func(e Event) {
			if e.Kind == EventResult {
				results++
				if e.Result.Version != c.version {
					t.Errorf("%+v: the result is of %q", c, e.Result.Version)
				}
			}
		}
		r, v, tried := tuneVersions(t, s, o, src)
		if v.Name != c.version || r.Version != c.version || tried != c.tried || results != 1 {
			t.Errorf("%+v: %q of%s, %d results", c, v.Name, tried, results)
		}
		if named := strings.HasPrefix(r.Best, "fission="+c.version+";"); named != (c.version != "") {
			t.Errorf("%+v: %s", c, r.Best)
		}
		if c.spills > 0 && (len(r.Versions) != 3 || r.Versions[0].Spills != 32 || r.Versions[0].Version != "" ||
			r.Versions[2].Version != "trivial" || r.Versions[2].Spills != 0 || r.Versions[2].Seconds == 0) {
			t.Errorf("%+v: %+v", c, r.Versions)
		}
		spills := c.version == "" && c.spills > 0
		if best := r.Contenders[0]; (best.Resources.Spills > 0) != spills || best.Cells == 0 {
			t.Errorf("%+v: %+v", c, best)
		}
		if best := r.Contenders[0]; c.spills == 0 && r.Versions != nil || best.GStencils*best.Seconds < 2.5e-4 ||
			best.GStencils*best.Seconds > 2.6e-4 { // updates of the cells, whatever else a version computes
			t.Errorf("%+v: %+v, %+v", c, r.Versions, best)
		}
	}
}

// A version that computes anything else is found on the reference executor.
func TestVersionsAreTheSame(t *testing.T) {
	b := program(t, outputs)
	src := diag.NewSource("outputs.loom", outputs)
	for _, name := range versionNames {
		v, err := fission.Make(name, src, arith.Contract)
		if err != nil || v == nil {
			continue
		}
		for _, wrong := range []bool{false, true} {
			text := v.Source.Text
			if wrong {
				text = strings.Replace(text, "a[j+1][i]", "a[j][i]", 1)
			}
			p, list := lang.Load(diag.NewSource("version.loom", text))
			if list.HasErrors() {
				t.Fatal(list)
			}
			other, _ := p.Bind(nil)
			if err := SameBits(t.Context(), b, other, nil); (err == nil) == wrong {
				t.Errorf("%s, wrong %v: %v", name, wrong, err)
			}
		}
	}
}

// rows is a stencil whose rows have sums in common.
const rows = `
parameter M = 510, N = 512;
iterator j, i;
double a[M,N], b[M,N];
copyin a;
copyout b;
stencil sums (b, a) {
  b[j][i] = max(a[j-1][i-1] + a[j-1][i] + a[j-1][i+1] + a[j-1][i-2], max(a[j][i-1] + a[j][i] + a[j][i+1] + a[j][i-2],
      a[j+1][i-1] + a[j+1][i] + a[j+1][i+1] + a[j+1][i-2]));
}
sums (b, a);
`

// The version with values that are shared is tuned where nothing spills, too, but not where memory binds the program.
func TestSharingIsTuned(t *testing.T) {
	src := diag.NewSource("rows.loom", rows)
	for _, c := range []struct {
		seconds float64 // of the program as it is; a copy of its grids takes 4.2e-5
		version string
	}{{1e-1, "cire"}, {4.5e-5, ""}} {
		b := program(t, rows)
		s := newScripted(t, b, nil)
		s.speed = func(string) (float64, error) {
			if len(s.bound.Program.Calls[0].Body) > 1 {
				return 5e-4, nil
			}
			return c.seconds, nil
		}
		o := options(s, b, 8)
		o.Lab, o.MaxDepth, o.Plan = gpu(t, s), 1, plan(t, "family=cells")
		r, v, _ := tuneVersions(t, s, o, src)
		if v.Name != c.version || r.Version != c.version || len(r.Versions) > 0 != (c.version != "") {
			t.Errorf("%+v: %q of %+v, bound %+v, %+v", c, v.Name, r.Versions, r.Bound, r.Contenders)
		}
	}
}

// A program whose kernels spill leaves about a third of the budget to its versions. The clock is that of the test.
func TestVersionsShareTheBudget(t *testing.T) {
	b := program(t, outputs)
	src := diag.NewSource("outputs.loom", outputs)
	for _, spills := range []int{0, 32} {
		s := newScripted(t, b, func(string) (float64, error) { return 1e-2, nil })
		s.spills = func(string) int { return spills }
		o := options(s, b, 0)
		o.Lab, o.MaxDepth, o.Plan, o.Budget = gpu(t, s), 1, plan(t, "family=cells"), 6*time.Second
		var seconds []float64
		_, _, err := RunVersions(t.Context(), o, src, func(ctx context.Context, o Options, v Version) (*Result, error) {
			s.bound = o.Bound
			r, err := Run(ctx, o)
			seconds = append(seconds, r.Seconds)
			return r, err
		})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case spills == 0 && len(seconds) != 1:
			t.Errorf("without spills the searches take %v s", seconds)
		case spills > 0 && (len(seconds) < 3 || seconds[0] > 4.8 || slices.Max(seconds[1:]) > 2.5):
			t.Errorf("the searches take %v s", seconds)
		}
	}
}

// rowsOfTwo has such a stencil with two statements, which may share a kernel.
const rowsOfTwo = `
parameter M = 510, N = 512;
iterator j, i;
double a[M,N], b[M,N], c[M,N];
copyin a;
copyout b, c;
stencil sums (b, c, a) {
  b[j][i] = max(a[j-1][i-1] + a[j-1][i] + a[j-1][i+1] + a[j-1][i-2], max(a[j][i-1] + a[j][i] + a[j][i+1] + a[j][i-2],
      a[j+1][i-1] + a[j+1][i] + a[j+1][i+1] + a[j+1][i-2]));
  c[j][i] = a[j][i+2] * b[j][i];
}
sums (b, c, a);
`

// A version's search goes on from the kernel of all statements that was the best of the program as it is: it begins
// with that, and searches no kernels of single calls.
func TestVersionsGoOn(t *testing.T) {
	decides(t)
	src := diag.NewSource("rows.loom", rowsOfTwo)
	b := program(t, rowsOfTwo)
	s := newScripted(t, b, nil)
	s.speed = func(plan string) (float64, error) {
		seconds := 1e-2
		if strings.Contains(plan, "sequence[") {
			seconds = 4e-3
		}
		if strings.Contains(plan, "unroll=2") {
			seconds /= 2
		}
		if len(s.bound.Program.Calls[0].Body) > 2 {
			seconds /= 2
		}
		return seconds, nil
	}
	o := options(s, b, 60)
	o.Lab = gpu(t, s)
	o.MaxDepth, o.Strategy = 0, "auto" // which begins with what is known to be good
	leader := ""
	r, v, err := RunVersions(t.Context(), o, src, func(ctx context.Context, o Options, v Version) (*Result, error) {
		s.bound = o.Bound
		r, err := Run(ctx, o)
		if err != nil {
			return r, err
		}
		var singles, together []Outcome
		for _, k := range r.Kernels {
			if strings.HasPrefix(k.Kernel, "sequence[") {
				together = append(together, k.Trials...)
			} else {
				singles = append(singles, k.Trials...)
			}
		}
		switch {
		case len(together) == 0:
			t.Fatalf("%q: no kernel of all statements was tried: %+v", v.Name, r.Loops)
		case v.Name == "" && len(singles) == 0:
			t.Error("no kernel of a single call was tried for the program as it is")
		case v.Name == "":
			_, best, _ := strings.Cut(r.Best, "sequence[0:1]@1{")
			leader = strings.TrimSuffix(best, "}")
			for _, v := range []string{"yes", "no"} { // the version has no statement in parts, and so no choice
				leader = strings.Replace(leader, "retime="+v+",", "", 1)
			}
		case slices.ContainsFunc(r.Contenders, func(c Contender) bool { return c.Name == "expert" }):
			t.Errorf("%q is compared with an expert's plan once more", v.Name)
		case len(singles) > 0 || together[0].Config != leader:
			t.Errorf("%q: %d kernels of single calls were tried, and first %s, not %s", v.Name, len(singles),
				together[0].Config, leader)
		}
		return r, err
	})
	if err != nil || v.Name == "" || !strings.Contains(r.Best, "sequence[0:1]@1{") {
		t.Errorf("%v: %q, %s; the program as it is had %s", err, v.Name, r.Best, leader)
	}
}

// The fastest version gets what is left in the end, where searches make enough trials in so little time. Otherwise the
// versions have all of it.
func TestFastestVersionIsTunedFurther(t *testing.T) {
	b := program(t, outputs)
	src := diag.NewSource("outputs.loom", outputs)
	for _, c := range []struct {
		trials int // a second
		want   string
	}{
		{10, "program 1m10s, statements 10s, trivial 10s, trivial 10s"},
		{1, "program 1m10s, statements 15s, trivial 15s"},
	} {
		now := time.Unix(0, 0)
		o := Options{
			Bound: b, Lab: newScripted(t, b, nil), Budget: 100 * time.Second, Clock: func() time.Time { return now },
		}
		var runs []string
		best := 4.0 // seconds
		r, v, err := RunVersions(t.Context(), o, src, func(_ context.Context, o Options, v Version) (*Result, error) {
			took := o.Budget
			if len(runs) == 0 {
				took = time.Duration(float64(o.Budget) * o.yield)
			}
			now = now.Add(took)
			name := v.Name
			if name == "" {
				name = "program"
			}
			runs = append(runs, name+" "+took.String())
			best--
			plan := "both[0:2]@1{family=cells}"
			return &Result{Best: plan, Spills: 8, Trials: c.trials * int(took.Seconds()), Seconds: took.Seconds(),
				Contenders: []Contender{{Plan: plan, Seconds: 1 + best}}}, nil
		})
		if err != nil || strings.Join(runs, ", ") != c.want || v.Name != "trivial" || len(r.Versions) != 3 ||
			r.Versions[2].Seconds != 1+best {
			t.Errorf("%d trials a second: %v, %q of %v, %+v", c.trials, err, v.Name, runs, r.Versions)
		}
	}
}

// faces are two calls of which the second reads at other cells what the first leaves.
const faces = `
parameter M = 510, N = 512;
iterator j, i;
double a[M,N], f[M,N], b[M,N];
copyin a, b;
copyout b, f;
stencil face (f, a) { f[j][i] = 0.5*(a[j][i] - a[j][i-1]); }
stencil step (b, f) { b[j][i] = b[j][i] - (f[j][i+1] - f[j][i]); }
[0:M-1, 1:N-1] : face (f, a);
[0:M-1, 1:N-2] : step (b, f);
`

// The version with calls joined is tuned where memory does not bind the program, from its best kernel of all calls.
func TestInliningIsTuned(t *testing.T) {
	decides(t)
	src := diag.NewSource("faces.loom", faces)
	for _, c := range []struct {
		seconds float64 // of the program as it is, by a kernel of both calls; a copy of what it moves takes 8.4e-5
		version string
	}{
		{1e-2, "inline"},
		{1.2e-4, "inline"}, // a copy of what the calls move one by one takes 1e-4
		{5e-5, ""},
	} {
		b := program(t, faces)
		s := newScripted(t, b, nil)
		s.speed = func(plan string) (float64, error) {
			switch {
			case len(s.bound.Program.Calls) == 1:
				return c.seconds / 2, nil
			case strings.Contains(plan, "sequence["):
				return c.seconds, nil
			}
			return 1e-1, nil
		}
		o := options(s, b, 40)
		o.Lab, o.MaxDepth = gpu(t, s), 0
		var first []string
		r, v, err := RunVersions(t.Context(), o, src, func(ctx context.Context, o Options, v Version) (*Result, error) {
			s.bound = o.Bound
			r, err := Run(ctx, o)
			if r != nil {
				for _, k := range r.Kernels {
					if strings.HasPrefix(k.Kernel, "sequence[") && len(k.Trials) > 0 {
						first = append(first, k.Trials[0].Config)
					}
				}
			}
			return r, err
		})
		if err != nil || v.Name != c.version || r.Version != c.version {
			t.Errorf("%v s: %v, %q of %+v, bound %+v", c.seconds, err, v.Name, r.Versions, r.Bound)
		}
		if c.version != "" && (len(first) < 2 || !strings.Contains(r.Versions[0].Best, "{"+first[1]+"}")) {
			t.Errorf("the version begins with %v, and the best was %s", first, r.Versions[0].Best)
		}
	}
}

// A version's search that is interrupted leaves the best that was found before, and the result says so.
func TestVersionsAreInterrupted(t *testing.T) {
	b := program(t, outputs)
	src := diag.NewSource("outputs.loom", outputs)
	ctx, interrupt := context.WithCancel(t.Context())
	r, v, err := RunVersions(ctx, Options{Bound: b, Lab: newScripted(t, b, nil), Trials: 8}, src,
		func(_ context.Context, _ Options, v Version) (*Result, error) {
			if v.Name != "" {
				interrupt()
				return nil, context.Canceled
			}
			plan := "both[0:2]@1{family=cells}"
			return &Result{Best: plan, Spills: 8, Contenders: []Contender{{Plan: plan, Seconds: 2}}}, nil
		})
	if err != nil || v.Name != "" || !r.Interrupted || r.seconds() != 2 || len(r.Versions) != 2 ||
		r.Versions[1].Failed == "" {
		t.Errorf("%v, %q: interrupted %v, %+v", err, v.Name, r.Interrupted, r.Versions)
	}
}
