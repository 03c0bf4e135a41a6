package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// roleSpace has two families that call the same roles by other names.
func roleSpace() Space {
	return Space{Families: []Family{
		{Name: "tile", Params: []Param{
			{Name: "block", Role: Threads, Axis: InnerAxis,
				Values: []Value{Int(4, 64), Int(8, 32)}, Default: Int(4, 64)},
			{Name: "vec", Role: Vector, Axis: InnerAxis, Values: Numbers(1, 2), Default: Int(2)},
			{Name: "rows", Role: BlockedUnroll, Axis: OuterAxis, Values: Numbers(1, 4), Default: Int(4)},
			{Name: "load", Role: LoadPath, Values: Words("plain", "readonly"), Default: Word("readonly")},
			{Name: "load_u", Role: ArrayLoadPath, Array: "u", Values: Words("same", "plain"), Default: Word("same")},
		}},
		{Name: "comb", Params: []Param{
			{Name: "along", Role: Stream, Axis: StreamAxis, Values: Words("k", "j"), Default: Word("k")},
			{Name: "length", Role: StreamLength, Axis: StreamAxis, Values: Numbers(0, 16), Default: Int(16)},
			{Name: "planes", Role: StreamUnroll, Axis: StreamAxis, Values: Numbers(1, 2), Default: Int(2)},
			{Name: "teeth", Role: Threads, Axis: InnerAxis, Values: Numbers(32, 64), Default: Int(64)},
			{Name: "strokes", Role: CyclicUnroll, Axis: InnerAxis,
				Values: []Value{Int(1, 2), Int(3, 1)}, Default: Int(3, 1)},
		}},
	}}
}

// Every role has a name of its own.
func TestRoleNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range roleCount {
		if r.String() == "" || seen[r.String()] {
			t.Errorf("role %d is called %q", r, r)
		}
		seen[r.String()] = true
	}
}

// A configuration says by its roles what a block has of each axis, whatever its
// family calls them.
func TestShape(t *testing.T) {
	s := roleSpace()
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ config, want string }{
		{"family=tile,block=4x64,vec=2,rows=4,load=plain,load_u=same", "[{1 1 1 1} {4 1 4 1} {64 2 1 1}] -1 0"},
		{"family=comb,along=k,length=16,planes=2,teeth=64,strokes=3x1", "[{1 1 1 1} {1 1 1 3} {64 1 1 1}] 0 16"},
		{"family=comb,along=j,length=0,planes=1,teeth=32,strokes=1x2", "[{1 1 1 1} {1 1 1 1} {32 1 1 2}] 1 0"},
	} {
		config, err := ParseConfig(c.config)
		if err != nil {
			t.Fatal(err)
		}
		got := s.ByRole(config).Shape([]string{"k", "j", "i"})
		if text := fmt.Sprint(got.On, got.Stream, got.Length); text != c.want {
			t.Errorf("%s: %s, want %s", c.config, text, c.want)
		}
	}
	if got := (ByRole{}).Shape([]string{"i"}); got.Stream != -1 || got.On[0].Width() != 1 {
		t.Errorf("nothing is %+v", got)
	}
}

// What is not there has no value, and nothing is set by it.
func TestByRole(t *testing.T) {
	s := roleSpace()
	tile, comb := s.ByRole(s.Default("tile")), s.ByRole(s.Default("comb"))
	if tile.Int(Threads, 1) != 256 || tile.Word(LoadPath) != "readonly" || tile.Has(Stream) ||
		tile.Int(Staging, 7) != 7 {
		t.Errorf("%v", tile)
	}
	if !slices.Equal(comb.Ints(CyclicUnroll), []int64{3, 1}) || comb.Word(Threads) != "" || comb.Is(Stream) {
		t.Errorf("%v", comb)
	}
	if c := tile.With(Vector, Int(1)); c.Int("vec") != 1 {
		t.Errorf("%v", c)
	}
	if c := tile.With(Stream, Word("k")); !c.Equal(s.Default("tile")) {
		t.Errorf("%v", c)
	}
	if p := s.Families[0].ForArray(ArrayLoadPath, "u"); p == nil || p.Name != "load_u" ||
		s.Families[0].For(ArrayLoadPath) != nil {
		t.Errorf("%v", p)
	}
	if s.Families[0].For(NoRole) != nil {
		t.Error("no role is a role")
	}
}

// Restrictions by role reach every family by its own name.
func TestRestrictByRole(t *testing.T) {
	s := roleSpace()
	few := func(v Value) bool { return v.Ints()[len(v.Ints())-1] <= 32 }
	less, err := s.On(Threads).Choose("few", few)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"block", "teeth"} {
		if p := less.Families[i].Param(name); len(p.Values) != 1 || !few(p.Default) {
			t.Errorf("%s: %v", name, p.Values)
		}
	}
	only, err := s.On(Stream).Fix(Word("j"))
	if err != nil || len(only.Families) != 1 || only.Families[0].Name != "comb" {
		t.Errorf("%v, %v", only, err)
	}
	kept, err := s.On(Stream).Keep(Word("j"))
	if err != nil || len(kept.Families) != 2 {
		t.Errorf("%v, %v", kept, err)
	}
	if s.On(Staging).Any() || !s.OnArray(ArrayLoadPath, "u").Any() {
		t.Error("roles are found that are not there, or not found")
	}
	if d := s.On(CyclicUnroll).Prefer(Int(1, 2)).Default("comb"); d.Ints("strokes")[1] != 2 {
		t.Errorf("%v", d)
	}
	each, err := s.Each(func(f *Family) *Constraint {
		p := f.For(Threads)
		return &Constraint{Name: "few", Doc: "they are few", Params: []string{p.Name}, Holds: func(c Config) bool {
			v, _ := c.Get(p.Name)
			return few(v)
		}}
	})
	if err != nil || each.Count().Cmp(less.Count()) != 0 {
		t.Errorf("%v of %v, %v", each.Count(), less.Count(), err)
	}
}

// A device without a capability has the values that do not need it.
func TestNeeds(t *testing.T) {
	p := Param{Name: "x", Values: Words("load", "shuffle"), Default: Word("load"),
		Needs: []Need{{machine.Shuffle, Words("shuffle")}}}
	all := p.Values
	p.Without([]machine.Capability{machine.BulkCopy})
	if len(p.Values) != 2 {
		t.Errorf("%v", p.Values)
	}
	p.Without([]machine.Capability{machine.Shuffle})
	if len(p.Values) != 1 || len(all) != 2 {
		t.Errorf("%v of %v", p.Values, all)
	}
}

// Two parameters of a family have not the same role.
func TestRolesAreUnique(t *testing.T) {
	s := roleSpace()
	s.Families[0].Params[1].Role = Threads
	if err := s.Verify(); err == nil ||
		!strings.Contains(err.Error(), "parameter vec: another one has the role threads") {
		t.Errorf("%v", err)
	}
}
