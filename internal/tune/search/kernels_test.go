package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

func numbers(n ...int64) []schedule.Value { return schedule.Numbers(n...) }

// usual are the roles and axes of parameters in the tests of this package.
var usual = map[string]schedule.Param{
	"block":     {Role: schedule.Threads, Axis: schedule.InnerAxis},
	"vec":       {Role: schedule.Vector, Axis: schedule.InnerAxis},
	"rows":      {Role: schedule.BlockedUnroll, Axis: schedule.OuterAxis},
	"repeat":    {Role: schedule.CyclicUnroll, Axis: schedule.InnerAxis},
	"stream":    {Role: schedule.Stream, Axis: schedule.StreamAxis},
	"stages":    {Role: schedule.Staging},
	"prefetch":  {Role: schedule.Prefetch, Axis: schedule.StreamAxis},
	"load":      {Role: schedule.LoadPath},
	"registers": {Role: schedule.RegisterLimit},
}

// withRoles gives the parameters of a space their usual roles.
func withRoles(s schedule.Space) schedule.Space {
	for i := range s.Families {
		for j := range s.Families[i].Params {
			p := &s.Families[i].Params[j]
			p.Role, p.Axis = usual[p.Name].Role, usual[p.Name].Axis
		}
	}
	return s
}

// twoFamilies has a parameter of lists of two lengths, words, a condition and constraints.
func twoFamilies() schedule.Space {
	shapes2 := []schedule.Value{schedule.Int(8, 32), schedule.Int(4, 32), schedule.Int(4, 64), schedule.Int(1, 64)}
	shapes3 := []schedule.Value{schedule.Int(2, 4, 32), schedule.Int(1, 4, 64), schedule.Int(1, 1, 16)}
	return withRoles(schedule.Space{Families: []schedule.Family{
		{
			Name: "tile", Params: []schedule.Param{
				{Name: "block", Values: shapes3, Default: shapes3[0]},
				{Name: "vec", Values: numbers(1, 4, 2), Default: schedule.Int(2)},
			},
			Constraints: []schedule.Constraint{{
				Name: "small", Params: []string{"block", "vec"},
				Holds: func(c schedule.Config) bool { return c.Int("vec") < 4 || c.Ints("block")[2] < 64 },
			}},
		},
		{
			Name: "planes", Params: []schedule.Param{
				{Name: "stream", Values: schedule.Words("k", "j"), Default: schedule.Word("k")},
				{Name: "stages", Values: numbers(0, 1), Default: schedule.Int(0)},
				{Name: "prefetch", Values: numbers(1, 2), Default: schedule.Int(1),
					When: []schedule.Condition{schedule.When("stages", schedule.Int(1))}},
				{Name: "block", Values: shapes2, Default: shapes2[0]},
				{Name: "vec", Values: numbers(1, 2), Default: schedule.Int(1)},
			},
		},
	}})
}

func TestPointsAndConfigurationsAreOne(t *testing.T) {
	s := twoFamilies()
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	k := Of(s)
	seen := map[string]bool{}
	for c := range s.All() {
		p, err := k.Point(c)
		if err != nil {
			t.Fatal(err)
		}
		if !k.Legal(p) || seen[p.Key()] || k.Text(p) != c.String() {
			t.Errorf("%s: %v: legal %v, text %s", c, p, k.Legal(p), k.Text(p))
		}
		seen[p.Key()] = true
		if back, err := k.Config(p); err != nil || !back.Equal(c) {
			t.Errorf("%s came back as %s: %v", c, back, err)
		}
		if q, ok := k.Complete(p); !ok || !slices.Equal(p, q) {
			t.Errorf("%v is complete and became %v", p, q)
		}
	}
	if k.Count().Int64() != int64(len(seen)) {
		t.Errorf("%v points, %d configurations", k.Count(), len(seen))
	}
	n := 0
	for p := range k.All() {
		if n++; !seen[p.Key()] {
			t.Errorf("%v is no configuration", p)
		}
	}
	if n != len(seen) {
		t.Errorf("%d points, %d configurations", n, len(seen))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		p := make(Point, len(k.Params()))
		for i := range p {
			p[i] = rng.IntN(len(k.Params()[i].Values)+1) - 1
		}
		if k.Legal(p) != seen[p.Key()] {
			t.Errorf("%v: legal %v", p, k.Legal(p))
		}
		if !seen[k.Draw(rng).Key()] {
			t.Error("drew what is not in the space")
		}
	}
}

func TestCoordinates(t *testing.T) {
	var names []string
	for _, p := range Of(twoFamilies()).Params() {
		names = append(names, p.Name+p.Axis)
	}
	want := []string{"family", "block.zz", "block.yy", "block.xx", "vecx", "stream", "stages", "prefetch"}
	if !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// TestComplete holds completion to what enumeration finds.
func TestComplete(t *testing.T) {
	k := Of(twoFamilies())
	all := slices.Collect(k.All())
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 3000 {
		p := make(Point, len(k.Params()))
		for i := range p {
			p[i] = Free
			if rng.IntN(2) == 0 {
				p[i] = rng.IntN(len(k.Params()[i].Values)+1) - 1
			}
		}
		fits := func(q Point) bool {
			for i := range p {
				if p[i] >= 0 && p[i] != q[i] {
					return false
				}
			}
			return true
		}
		q, ok := k.Complete(p)
		if ok != slices.ContainsFunc(all, fits) {
			t.Fatalf("%v: completed %v", p, ok)
		}
		if ok {
			found++
			if !fits(q) || !k.Legal(q) {
				t.Fatalf("%v became %v", p, q)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d could be completed", found)
	}
}

func TestStarts(t *testing.T) {
	k := Of(twoFamilies())
	var texts []string
	for _, p := range k.Starts() {
		texts = append(texts, k.Text(p))
	}
	want := []string{"family=tile,block=2x4x32,vec=2", "family=planes,stream=k,stages=0,block=8x32,vec=1"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
}

// TestShape says what exists as the space itself does.
func TestShape(t *testing.T) {
	k := Of(twoFamilies())
	for p := range k.All() {
		if q := k.Shape(p); !slices.Equal(p, q) {
			t.Errorf("%v has the shape %v", p, q)
		}
	}
	at := func(text string) Point {
		c, err := schedule.ParseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.Point(c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	on := at("family=planes,stream=k,stages=1,prefetch=2,block=8x32,vec=1")
	off := at("family=planes,stream=k,stages=0,block=8x32,vec=1")
	shared := slices.IndexFunc(k.Params(), func(p Param) bool { return p.Name == "stages" })
	turned := slices.Clone(on)
	turned[shared] = off[shared]
	if q := k.Shape(turned); !slices.Equal(q, off) {
		t.Errorf("without planes in shared memory %v has the shape %v", turned, q)
	}
	turned = slices.Clone(off)
	turned[shared] = on[shared]
	if q := k.Shape(turned); q[shared+1] != Free {
		t.Errorf("with planes in shared memory %v has the shape %v", turned, q)
	}
}

// TestManyAxes has a kernel of six dimensions, and rows beside the inner one.
func TestManyAxes(t *testing.T) {
	block := []schedule.Value{schedule.Int(0, 0, 0, 0, 0, 0), schedule.Int(0, 0, 0, 0, 8, 64)}
	rows := []schedule.Value{schedule.Int(1, 1), schedule.Int(1, 2)}
	k := Of(withRoles(schedule.Space{Families: []schedule.Family{{Name: "loops", Params: []schedule.Param{
		{Name: "block", Values: block, Default: block[0]}, {Name: "rows", Values: rows, Default: rows[0]},
	}}}}))
	var names []string
	for _, p := range k.Params() {
		names = append(names, p.Name+" "+p.Axis)
	}
	want := []string{"family ", "block.d5 d5", "block.d4 d4", "block.w w", "block.z z", "block.y y", "block.x x",
		"rows.z z", "rows.y y"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	for p := range k.All() {
		if !k.Legal(p) {
			t.Errorf("%v is not legal", p)
		}
	}
}
