package schedule

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// limited applies fixes, written name:=value|value, and limits.
func limited(s Space, texts ...string) (Space, error) {
	for _, text := range texts {
		var err error
		if name, values, fix := strings.Cut(text, ":="); fix {
			var list []Value
			for v := range strings.SplitSeq(values, "|") {
				list = append(list, mustValue(v))
			}
			s, err = s.Fix(name, list...)
		} else {
			s, err = s.Limit(text)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func mustValue(text string) Value {
	v, err := ParseValue(text)
	if err != nil {
		panic(err)
	}
	return v
}

func TestRestrict(t *testing.T) {
	for _, test := range []struct {
		texts    string
		count    int64 // of the 54 members
		defaults string
	}{
		{"family:=plain", 2, "family=plain,threads=1"},
		{"family!=plain", 52, "family=loops,block=0x64x0,threads=2,stream=none"},
		{"threads:=1", 22, "family=loops,block=0x64x0,threads=1,stream=none;family=plain,threads=1"},
		// A family without such a parameter cannot have it fixed, but no limit harms it.
		{"stream:=k|j", 44, "family=loops,block=0x64x0,threads=2,stream=k,prefetch=0"},
		{"stream!=none", 46, "family=loops,block=0x64x0,threads=2,stream=k,prefetch=0;family=plain,threads=1"},
		// What is fixed exists.
		{"prefetch:=0|1", 32, "family=loops,block=0x64x0,threads=2,stream=k,prefetch=0"},
		{"prefetch<=1", 42, "family=loops,block=0x64x0,threads=2,stream=none;family=plain,threads=1"},
		// A limit that leaves no value leaves what does without.
		{"prefetch<0", 10, "family=loops,block=0x64x0,threads=2,stream=none;family=plain,threads=1"},
		// Products are taken number by number, from the inner axis on.
		{"block*threads>=8x8x128", 14, "family=loops,block=8x8x64,threads=2,stream=none;family=plain,threads=1"},
		{"block*threads!=8x8x64", 47, "family=loops,block=0x64x0,threads=2,stream=none;family=plain,threads=1"},
		// Lists count as products, or number by number.
		{"block>0", 21, "family=loops,block=8x8x64,threads=2,stream=none;family=plain,threads=1"},
		{"block>=8x64x0", 21, "family=loops,block=8x64x0,threads=2,stream=none;family=plain,threads=1"},
		// Defaults follow to what is legal.
		{"threads>=4", 10, "family=loops,block=8x64x0,threads=4,stream=none"},
		{"threads>=4 prefetch:=1", 4, "family=loops,block=8x64x0,threads=4,stream=k,prefetch=1"},
		{"stream=k threads=2", 9 + 1, "family=loops,block=0x64x0,threads=2,stream=k,prefetch=0;family=plain,threads=2"},
	} {
		before := loops()
		s, err := limited(before, strings.Fields(test.texts)...)
		if err != nil {
			t.Errorf("%s: %v", test.texts, err)
			continue
		}
		var defaults []string
		for _, f := range s.Families {
			defaults = append(defaults, s.Default(f.Name).String())
		}
		if got := strings.Join(defaults, ";"); got != test.defaults || s.Count().Int64() != test.count {
			t.Errorf("%s: %v members, defaults %s\nwant %d, %s", test.texts, s.Count(), got, test.count, test.defaults)
		}
		if err := s.Verify(); err != nil {
			t.Errorf("%s: %v", test.texts, err)
		}
		if n := before.Count().Int64(); n != 54 {
			t.Errorf("%s changed what it was applied to: %d members", test.texts, n)
		}
	}
}

func TestRestrictErrors(t *testing.T) {
	for _, test := range []struct{ texts, want string }{
		{"thread:=1", "no parameter is called thread; did you mean threads?"},
		{"thread<=1", "no parameter is called thread; did you mean threads?"},
		{"threads:=3", "threads takes no value 3; it takes 1, 2, 4"},
		{"threads>4", "threads takes no value > 4; it takes 1, 2, 4"},
		{"family:=lops", "no family is called lops; did you mean loops?"},
		{"family!=lops", "no family is called lops; did you mean loops?"},
		{"family<=loops", `"family<=loops": <= compares numbers, and loops is a word`},
		{"family<=1", "families are not more or less than each other: write family=NAME or family!=NAME"},
		{"family!=loops family!=plain", "no family is chosen"},
		{"stream:=none prefetch:=1", "no configuration of the family loops has prefetch 1"},
		{"threads:=4 prefetch:=2", "no configuration of the family loops has prefetch 2"},
		{"threads", `"threads" is no limit: write a parameter, one of <=, <, >=, >, = and !=, and a value`},
		{"<=4", `"" is no name of a parameter`},
		{"threads!4", `"threads!4": a comparison is one of <=, <, >=, >, = and !=`},
		{"block*thread<=1", "no parameter is called thread; did you mean threads?"},
		{"block*threads=k", `"block*threads=k": products are numbers`},
		{"block**threads<=1", `"" is no name of a parameter`},
		{"family!=plain block*threads>99999", "no configuration is left: the product is not > 99999"},
		{"threads<=1|2", `"threads<=1|2": <= compares with one value`},
		{"threads<=04", `threads: "04" is neither a whole number, nor a list of them like 64x4, nor a word`},
	} {
		if _, err := limited(loops(), strings.Fields(test.texts)...); text(err) != test.want {
			t.Errorf("%s:\n%v, want\n%s", test.texts, err, test.want)
		}
	}
}

// A restricted space has exactly those members that a restriction allows.
func TestRestrictAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomSpace(t)
		for range rapid.IntRange(1, 3).Draw(t, "restrictions") {
			f := s.Families[rapid.IntRange(0, len(s.Families)-1).Draw(t, "family")]
			if len(f.Params) == 0 {
				continue
			}
			p := f.Params[rapid.IntRange(0, len(f.Params)-1).Draw(t, "param")]
			v := rapid.Int64Range(1, 4).Draw(t, "value")
			op := rapid.SampledFrom([]string{":=", "=", "!=", "<=", "<", ">=", ">"}).Draw(t, "op")
			text := fmt.Sprintf("%s%s%d", p.Name, op, v)
			var want []string
			for c := range s.All() {
				got, has := c.Get(p.Name)
				if !has && op != ":=" || has && (op == ":=" && got.Equal(Int(v)) ||
					op != ":=" && (limit{op: op, values: []Value{Int(v)}}).holds(got)) {
					want = append(want, c.String())
				}
			}
			next, err := limited(s, text)
			if err != nil {
				if len(want) > 0 {
					t.Fatalf("%s: %v, and there are %v", text, err, want)
				}
				continue
			}
			slices.Sort(want)
			have := everything(next)
			slices.Sort(have)
			if !slices.Equal(have, want) {
				t.Fatalf("%s leaves %v\nwant %v", text, have, want)
			}
			if n := next.Count(); n.Cmp(big.NewInt(int64(len(want)))) != 0 {
				t.Fatalf("%s: Count is %v, want %d", text, n, len(want))
			}
			if err := next.Verify(); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			s = next
		}
	})
}

func TestConstrain(t *testing.T) {
	even := Constraint{Name: "sum", Doc: "the source fixes it", Params: []string{"threads", "prefetch"},
		Holds: func(c Config) bool { return c.Int("threads")*c.Int("prefetch") == 2 }}
	s, err := loops().Constrain(even)
	if err != nil {
		t.Fatal(err)
	}
	for c := range s.All() {
		if c.Has("prefetch") && c.Int("threads")*c.Int("prefetch") != 2 {
			t.Error(c)
		}
	}
	// 8 pairs without ahead; of those with 1 or 2 threads 3 blocks each, times 2 axes.
	if n := s.Count().Int64(); n != 8+2*(3+3)+2 || s.Verify() != nil {
		t.Errorf("%d members, %v", n, s.Verify())
	}
	// Values that it allows with nothing are not listed any more.
	f := *loops().Family("loops")
	one, err := Space{[]Family{f}}.Constrain(Constraint{Name: "whole", Doc: "d", Params: []string{"block", "threads"},
		Holds: func(c Config) bool { return c.Ints("block")[0] == 4*c.Int("threads") }})
	if err != nil {
		t.Fatal(err)
	}
	if f := one.Families[0]; list(f.Param("block").Values) != "8x64x0, 8x8x64" ||
		list(f.Param("threads").Values) != "2" || one.Verify() != nil {
		t.Errorf("%v, %v: %v", f.Param("block").Values, f.Param("threads").Values, one.Verify())
	}
	never := Constraint{
		Name: "never", Doc: "it never holds", Params: []string{"threads"}, Holds: func(Config) bool { return false },
	}
	if _, err := s.Constrain(never); text(err) != "no configuration is left: it never holds" {
		t.Error(err)
	}
}

// Restricted spaces are counted and drawn from as fast as whole ones.
func BenchmarkRestrict(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for b.Loop() {
		s, err := limited(workGroups(512), "wx>=32", "vx:=4", "image!=yes")
		if err != nil {
			b.Fatal(err)
		}
		s.Sample(rng, 1000)
	}
}
