package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

const heat = `
parameter N = 33, T = 10;
iterator j, i;
double u[N,N], next[N,N], mask[N];
double alpha = 0.2;
boundary u, next : clamp;
copyin u;
copyout u;
initial { u[j][i] = random(1); mask[i] = i % 3 == 0 ? 0.0 : 1.0; next[j][i] = 7.0; }
stencil heat (out, in, mask, a) {
  out[j][i] = in[j][i] + mask[i]*a*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i] - 4*in[j][i]);
}
iterate T { heat (next, u, mask, alpha); swap (next, u); }
`

// relax goes on until little changes, and counts in several ways on the way:
// nested iterates, one whose count another stencil has computed, three grids
// that rotate, a call that uses the step, one that works in place.
const relax = `
parameter N = 20;
iterator j, i;
float a[N,N], b[N,N], c[N,N];
int seen[N,N];
float change = 100;
int rounds;
byte odd[N,N];
boundary a, b, c : periodic;
copyout a, seen, change;
initial { a[j][i] = random(2); b[j][i] = random(3); c[j][i] = random(4); }
stencil smooth (out, in, other, change) {
  float t[N,N];
  boundary t : mirror;
  t[j][i] = 0.2*(in[j][i] + in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]);
  out[j][i] = 0.9*t[j][i] + 0.1*0.5*(t[j-1][i] + t[j+1][i]) + 0.0001*other[j][i];
  reduce max change = abs(out[j][i] - in[j][i]);
}
stencil count (seen, rounds) {
  seen[j][i] += step;
  reduce max rounds = (seen[j][i] + j + i) % 4;
}
stencil mark (odd, seen) { odd[j][i] = seen[j][i] % 2 == 1 ? 200 : 3*odd[j][i]; }
count (seen, rounds);
iterate until (change < 0.01) check 3 max 40 {
  iterate rounds - 1 { smooth (c, a, b, change); rotate (a, b, c); }
  smooth (c, a, b, change);
  rotate (a, c);
  count (seen, rounds);
}
iterate (0:1) { mark (odd, seen); }
iterate 0 { mark (odd, seen); }
mark (odd, seen);
`

var programs = []struct{ name, text string }{{"heat", heat}, {"relax", relax}}

// All runners give the same bits, whatever the pieces that they go in.
func TestRunnersAgree(t *testing.T) {
	for _, test := range programs {
		b := program(t, test.text)
		ref := initialised(t, openReference(t, b))
		p := advanced(t, ref, Limit{})
		if !p.Finished || p.Stopped {
			t.Errorf("%s: the reference ends with %+v", test.name, p)
		}
		want := contents(t, ref, b.Program)
		for _, o := range []Options{{}, {Threads: 1}, {Private: true}} {
			r := initialised(t, openCPU(t, b, o))
			q := advanced(t, r, Limit{})
			if q.Iterations != p.Iterations || q.Leaves != p.Leaves || q.Points != p.Points || !q.Finished ||
				q.Launches < q.Leaves/2 {
				t.Errorf("%s %+v: ends with %+v, the reference with %+v", test.name, o, q, p)
			}
			same(t, fmt.Sprintf("%s %+v", test.name, o), contents(t, r, b.Program), want)
			if again := advanced(t, r, Limit{}); !again.Finished || again.Leaves != q.Leaves {
				t.Errorf("%s: after the end comes %+v", test.name, again)
			}
		}
	}
}

// stops lists where a runner stands after pieces of n.
func pieces(t *testing.T, r Runner, limit Limit) (places []Place) {
	for range 1000 {
		p := advanced(t, r, limit)
		places = append(places, r.Place())
		if p.Finished {
			return places
		}
	}
	t.Fatal("it does not end")
	return nil
}

func TestPieces(t *testing.T) {
	for _, test := range programs {
		b := program(t, test.text)
		for _, limit := range []Limit{{Leaves: 1}, {Leaves: 3}, {Iterations: 1}, {Iterations: 2},
			{Iterations: 2, Leaves: 5}} {
			ref := initialised(t, openReference(t, b))
			r := initialised(t, openCPU(t, b, Options{}))
			want, got := pieces(t, ref, limit), pieces(t, r, limit)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s by %+v: the runners stop at different places:\n%v\n%v", test.name, limit, got, want)
			}
			same(t, test.name, contents(t, r, b.Program), contents(t, ref, b.Program))
		}
	}
}

// A runner that starts from another's checkpoint, perhaps on another device,
// goes on as if nothing had happened.
func TestResume(t *testing.T) {
	open := map[string]func(b *ir.Binding) Runner{
		"ref":     func(b *ir.Binding) Runner { return openReference(t, b) },
		"cpu":     func(b *ir.Binding) Runner { return openCPU(t, b, Options{}) },
		"private": func(b *ir.Binding) Runner { return openCPU(t, b, Options{Private: true}) },
		"gpu": func(b *ir.Binding) Runner {
			m, image := forGPU(t, b)
			return openModule(t, m, b, Options{Image: image, eager: 3})
		},
	}
	for _, test := range programs {
		b := program(t, test.text)
		whole := initialised(t, openReference(t, b))
		end := advanced(t, whole, Limit{})
		want := contents(t, whole, b.Program)
		for k, pair := range [][2]string{{"cpu", "cpu"}, {"cpu", "ref"}, {"ref", "cpu"}, {"private", "private"},
			{"ref", "private"}, {"gpu", "gpu"}, {"cpu", "gpu"}} {
			first := initialised(t, open[pair[0]](b))
			advanced(t, first, Limit{Leaves: int64(4 + 3*k)})
			data, err := json.Marshal(first.Place())
			if err != nil {
				t.Fatal(err)
			}
			var at Place
			if err := json.Unmarshal(data, &at); err != nil {
				t.Fatal(err)
			}
			second := open[pair[1]](b)
			// Somewhere else first, so that its grids have changed places.
			advanced(t, second, Limit{Leaves: 3})
			for _, g := range b.Program.Grids {
				from, err := first.Grid(g.Name)
				if err != nil {
					t.Fatal(err)
				}
				to, err := second.Grid(g.Name)
				if err != nil {
					t.Fatal(err)
				}
				copy(to, from)
			}
			if err := second.Restore(at); err != nil {
				t.Fatal(err)
			}
			if p := advanced(t, second, Limit{}); p.Iterations != end.Iterations || !p.Finished {
				t.Errorf("%s: %v ends with %+v, want %+v", test.name, pair, p, end)
			}
			same(t, fmt.Sprintf("%s: %v", test.name, pair), contents(t, second, b.Program), want)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	b := program(t, relax)
	for _, r := range []Runner{openReference(t, b), openCPU(t, b, Options{})} {
		good := r.Place()
		for _, test := range []struct {
			change func(p *Place)
			want   string
		}{
			{func(p *Place) { p.Cursor.Frames = []ir.Frame{{At: 99}} },
				"the cursor stands outside the program at depth 0"},
			{func(p *Place) { p.Scalars = p.Scalars[:1] }, "the checkpoint does not hold the value of rounds"},
			{func(p *Place) { p.Scalars[0].Type = types.F64 }, "the checkpoint does not hold the value of change"},
			{func(p *Place) { p.Scalars = append(p.Scalars, ScalarValue{Name: "x"}) },
				"the checkpoint holds the value of x, which the program does not compute"},
		} {
			bad := Place{Cursor: good.Cursor, Scalars: slices.Clone(good.Scalars)}
			test.change(&bad)
			if err := r.Restore(bad); err == nil || err.Error() != test.want {
				t.Errorf("%T: %v, want %s", r, err, test.want)
			}
		}
		if err := r.Restore(good); err != nil {
			t.Error(err)
		}
	}
}

// Contents that are given replace an initial formula, and what others are
// computed from.
func TestGiven(t *testing.T) {
	b := program(t, `
parameter N = 4;
iterator i;
double u[N], v[N], w[N];
copyin u;
initial { u[i] = 1.0*i; v[i] = 2*u[i]; w[i] = 5.0; }
stencil s (w, v) { w[i] += v[i]; }
s (w, v);
`)
	for _, r := range []Runner{openReference(t, b), openCPU(t, b, Options{}), openCPU(t, b, Options{Private: true})} {
		u, err := r.Grid("u")
		if err != nil {
			t.Fatal(err)
		}
		copy(u, slices.Repeat([]byte{0, 0, 0, 0, 0, 0, 0x24, 0x40}, 4)) // 10
		if err := r.Initialise([]string{"u"}); err != nil {
			t.Fatal(err)
		}
		advanced(t, r, Limit{})
		w, err := r.Grid("w")
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Float64frombits(uint64(w[31])<<56 | uint64(w[30])<<48); got != 25 {
			t.Errorf("%T: the last cell is %v", r, got)
		}
	}
}

func TestNamesAndScalars(t *testing.T) {
	b := program(t, relax)
	for _, r := range []Runner{initialised(t, openReference(t, b)), initialised(t, openCPU(t, b, Options{}))} {
		if v, err := r.Scalar("change"); err != nil || !v.Same(op.Float(types.F32, 100)) {
			t.Errorf("%T: change starts as %v, %v", r, v, err)
		}
		advanced(t, r, Limit{})
		if v, err := r.Scalar("change"); err != nil || !(v.F < 0.01) {
			t.Errorf("%T: change ends as %v, %v", r, v, err)
		}
		if _, err := r.Grid("sen"); err == nil ||
			err.Error() != "the program has no grid called sen (did you mean seen?)" {
			t.Errorf("%T: %v", r, err)
		}
		if _, err := r.Scalar("xyzzy"); err == nil || err.Error() != "the program has no scalar called xyzzy" {
			t.Errorf("%T: %v", r, err)
		}
	}
}

// An interrupt stops between two leaves, and the program can go on.
func TestInterrupt(t *testing.T) {
	b := program(t, heat, "N=60", "T=1000000")
	for _, r := range []Runner{initialised(t, openReference(t, b)), initialised(t, openCPU(t, b, Options{}))} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		p, err := r.Advance(ctx, Limit{})
		cancel()
		if err != nil || !p.Stopped || p.Finished || p.Iterations == 0 {
			t.Fatalf("%T: %+v, %v", r, p, err)
		}
		q := advanced(t, r, Limit{Iterations: 10})
		if q.Stopped || q.Iterations != p.Iterations+10 {
			t.Errorf("%T: after %+v comes %+v", r, p, q)
		}
		other := initialised(t, openCPU(t, b, Options{}))
		advanced(t, other, Limit{Iterations: q.Iterations})
		same(t, fmt.Sprintf("%T", r), contents(t, r, b.Program), contents(t, other, b.Program))
	}
}

func TestProgress(t *testing.T) {
	// A busy machine may be late to tell: longer runs are told of sooner or later.
	steps := int64(3000)
	for !progressIsTold(t, steps) && steps < 1e7 {
		steps *= 10
	}
	if steps >= 1e7 {
		t.Error("nothing is heard")
	}
}

func progressIsTold(t *testing.T, steps int64) bool {
	t.Helper()
	b := program(t, heat, fmt.Sprint("T=", steps))
	told := true
	var seen []Progress
	note := func(p Progress) { seen = append(seen, p) }
	ref, err := OpenReference(b, ReferenceOptions{Progress: note, Interval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	m := module(t, b)
	local, err := OpenLocal(t.Context(), m, b, Options{
		Device: "cpu", Image: build(t, emit.Source(emit.C, m)), Progress: note, Interval: time.Millisecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	for _, r := range []Runner{ref, openCPU(t, b, Options{Progress: note, Interval: time.Millisecond}), local} {
		seen = nil
		end := advanced(t, initialised(t, r), Limit{})
		if end.Iterations != steps || end.Leaves != 2*steps || end.Points != steps*33*33 || end.Busy <= 0 {
			t.Errorf("%T: %+v", r, end)
		}
		last := Progress{}
		for _, p := range seen {
			if p.Iterations < last.Iterations || p.Leaves < last.Leaves || p.Points < last.Points ||
				p.Points > end.Points || p.Call != "heat" && p.Call != "" {
				t.Errorf("%T: after %+v comes %+v", r, last, p)
			}
			last = p
		}
		told = told && len(seen) > 0
	}
	return told
}
