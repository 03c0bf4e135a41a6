package schedule

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// loops is a family like that of CPU loop nests, with a parameter that exists
// only sometimes.
func loops() Space {
	return Space{[]Family{{
		Name: "loops",
		Params: []Param{
			{Name: "block", Values: []Value{Int(0, 64, 0), Int(8, 64, 0), Int(8, 8, 64)}, Default: Int(0, 64, 0)},
			{Name: "threads", Values: Numbers(1, 2, 4), Default: Int(2)},
			{Name: "stream", Values: Words("none", "k", "j"), Default: Word("none")},
			{Name: "prefetch", Values: Numbers(0, 1, 2), Default: Int(0),
				When: []Condition{When("stream", Words("k", "j")...)}},
		},
		Constraints: []Constraint{
			{Name: "blocks for all", Doc: "a thread would have no block", Params: []string{"block", "threads"},
				Holds: func(c Config) bool { return c.Ints("block")[0] > 0 || c.Int("threads") < 4 }},
			{Name: "registers", Doc: "they would spill", Params: []string{"threads", "prefetch"},
				Holds: func(c Config) bool { return c.Int("threads")*c.Int("prefetch") <= 4 }},
		},
	}, {
		Name:   "plain",
		Params: []Param{{Name: "threads", Values: Numbers(1, 2), Default: Int(1)}},
	}}}
}

func TestConfigText(t *testing.T) {
	for _, text := range []string{
		"", "family=loops", "family=loops,block=0x64x0,threads=2", "load.u_0=read-only,n=-3", "y=x",
	} {
		c, err := ParseConfig(text)
		if err != nil || c.String() != text {
			t.Errorf("ParseConfig(%q) = %q, %v", text, c, err)
		}
	}
	if c, err := ParseConfig(" family=f , a=1 "); err != nil || c.String() != "family=f,a=1" {
		t.Errorf("spaces: %q, %v", c, err)
	}
	for _, test := range []struct{ text, want string }{
		{"block", `"block" is no setting: write name=value`},
		{"a=1,,b=2", `a setting is missing between two commas of "a=1,,b=2"`},
		{"a=1,a=2", `a is set twice`},
		{"a=1,family=f", `family=f comes first`},
		{"family=8", `"8" is no name of a family`},
		{"a b=1", `"a b" is no name of a parameter`},
		{"a=07", `a: "07" is neither a whole number, nor a list of them like 64x4, nor a word`},
		{"a=", `a: "" is neither a whole number, nor a list of them like 64x4, nor a word`},
		{"a=4x", `a: "4x" is neither a whole number, nor a list of them like 64x4, nor a word`},
		{"a=99999999999999999999",
			`a: "99999999999999999999" is neither a whole number, nor a list of them like 64x4, nor a word`},
	} {
		if _, err := ParseConfig(test.text); err == nil || err.Error() != test.want {
			t.Errorf("ParseConfig(%q): %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestConfigValues(t *testing.T) {
	c := must(ParseConfig("family=f,block=8x64,threads=2,stream=k"))
	if got := fmt.Sprintln(c.Ints("block"), c.Int("threads"), c.Ints("threads"), c.Word("stream"),
		c.Has("prefetch")); got != "[8 64] 2 [2] k false\n" {
		t.Error(got)
	}
	d := c.With("threads", Int(4)).With("prefetch", Int(1))
	if d.String() != "family=f,block=8x64,threads=4,stream=k,prefetch=1" || c.Int("threads") != 2 {
		t.Error(d, c)
	}
	for _, f := range []func(){
		func() { c.Int("prefetch") }, func() { c.Int("block") }, func() { c.Word("threads") },
		func() { c.Ints("stream") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

func TestCheck(t *testing.T) {
	s := loops()
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{"family=loops,block=0x64x0,threads=2,stream=none", ""},
		{"family=loops,block=0x64x0,threads=2,stream=k,prefetch=2", ""},
		{"family=plain,threads=1", ""},
		{"threads=1", "no family is named; there is loops, plain"},
		{"family=lops,threads=1", "no family is called lops; did you mean loops?"},
		{"family=loops,blok=1", "the family loops has no parameter blok; did you mean block?"},
		{"family=plain,stream=k", "the family plain has no parameter stream; there is threads"},
		{"family=loops,threads=3", "threads takes no value 3; it takes 1, 2, 4"},
		{"family=loops,threads=2", "block is not set"},
		{"family=loops,block=0x64x0,threads=2,stream=none,prefetch=1", "prefetch exists only with stream=k or j"},
		{"family=loops,threads=2,block=0x64x0,stream=none",
			"threads stands where block belongs: the order is block, threads, stream"},
		{"family=loops,block=0x64x0,threads=4,stream=none",
			"block=0x64x0,threads=4: blocks for all (a thread would have no block); the rest being as it is, " +
				"block=8x64x0|8x8x64 or threads=1|2 would do"},
		{"family=loops,block=8x64x0,threads=4,stream=k,prefetch=2",
			"threads=4,prefetch=2: registers (they would spill); the rest being as it is, " +
				"threads=1|2 or prefetch=0|1 would do"},
		{"family=loops,block=0x64x0,threads=4,stream=k,prefetch=2",
			"block=0x64x0,threads=4: blocks for all (a thread would have no block); " +
				"the rest being as it is, threads=1|2 would do"},
	} {
		err := s.Check(must(ParseConfig(test.text)))
		if has := s.Has(must(ParseConfig(test.text))); has != (err == nil) {
			t.Errorf("Has(%s) is %v", test.text, has)
		}
		if got := text(err); got != test.want {
			t.Errorf("Check(%s):\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

// Of many values those are named that are nearest to what was asked for.
func TestNearValuesAreNamed(t *testing.T) {
	var numbers, blocks []Value
	for n := int64(4); n <= 200; n += 4 {
		numbers = append(numbers, Int(n))
	}
	for _, j := range []int64{8, 1, 4, 2} {
		for _, i := range []int64{32, 64, 128, 16} {
			blocks = append(blocks, Int(j, i))
		}
	}
	s := Space{Families: []Family{{Name: "f", Params: []Param{
		{Name: "chunk", Values: numbers}, {Name: "block", Values: append(blocks, Word("any"))},
	}}}}
	for _, test := range []struct{ text, want string }{
		{"chunk=1000000,block=2x32", "chunk takes no value 1000000; it takes 180, 184, 188, 192, 196, 200 and 44 more"},
		{"chunk=-3,block=2x32", "chunk takes no value -3; it takes 4, 8, 12, 16, 20, 24 and 44 more"},
		{"chunk=50,block=2x32", "chunk takes no value 50; it takes 40, 44, 48, 52, 56, 60 and 44 more"},
		{"chunk=4,block=3x33", "block takes no value 3x33; it takes 1x32, 2x32, 4x16, 4x32, 4x64, 8x32 and 11 more"},
		// To lists of other lengths, and to words, nothing is near.
		{"chunk=4,block=3", "block takes no value 3; it takes 8x32, 8x64, 8x128, 8x16, 1x32, 1x64, 1x128, 1x16, " +
			"4x32, 4x64, 4x128, 4x16 and 5 more"},
		{"chunk=all,block=2x32",
			"chunk takes no value all; it takes 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48 and 38 more"},
	} {
		if got := text(s.Check(must(ParseConfig("family=f," + test.text)))); got != test.want {
			t.Errorf("Check(%s):\n got %s\nwant %s", test.text, got, test.want)
		}
	}
	// Restrictions do, where it is one value.
	for _, test := range []struct{ text, want string }{
		{"block:=3x33", "block takes no value 3x33; it takes 1x32, 2x32, 4x16, 4x32, 4x64, 8x32 and 11 more"},
		{"chunk:=50", "chunk takes no value 50; it takes 40, 44, 48, 52, 56, 60 and 44 more"},
		{"chunk:=50|70",
			"chunk takes no value 50, 70; it takes 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48 and 38 more"},
		{"chunk>200", "chunk takes no value > 200; it takes 180, 184, 188, 192, 196, 200 and 44 more"},
	} {
		if _, err := limited(s, test.text); text(err) != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.text, text(err), test.want)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, test := range []struct{ partial, want, err string }{
		{partial: "", want: "family=loops,block=0x64x0,threads=2,stream=none"},
		{partial: "family=plain", want: "family=plain,threads=1"},
		{partial: "threads=4", want: "family=loops,block=8x64x0,threads=4,stream=none"},
		{partial: "stream=j", want: "family=loops,block=0x64x0,threads=2,stream=j,prefetch=0"},
		// A setting brings about what its existence needs.
		{partial: "prefetch=1", want: "family=loops,block=0x64x0,threads=2,stream=k,prefetch=1"},
		{partial: "prefetch=2,block=8x8x64", want: "family=loops,block=8x8x64,threads=2,stream=k,prefetch=2"},
		{partial: "threads=4,prefetch=2", err: "threads=4,prefetch=2: registers (they would spill); " +
			"the rest being as it is, threads=1|2 or prefetch=0|1 would do"},
		{partial: "block=0x64x0,threads=4",
			err: "block=0x64x0,threads=4: blocks for all (a thread would have no block); " +
				"the rest being as it is, block=8x64x0|8x8x64 or threads=1|2 would do"},
		{partial: "block=8x64x0,threads=4,prefetch=2,stream=j", err: "threads=4,prefetch=2: " +
			"registers (they would spill); the rest being as it is, threads=1|2 or prefetch=0|1 would do"},
		{partial: "stream=none,prefetch=1", err: "prefetch exists only with stream=k or j"},
		{partial: "thread=1", err: "the family loops has no parameter thread; did you mean threads?"},
		{partial: "family=plain,stream=k", err: "the family plain has no parameter stream; there is threads"},
		{partial: "threads=7", err: "threads takes no value 7; it takes 1, 2, 4"},
	} {
		s := loops()
		c, err := s.Complete(must(ParseConfig(test.partial)))
		if text(err) != test.err || c.String() != test.want {
			t.Errorf("Complete(%s) = %s, %v\nwant %s, %s", test.partial, c, err, test.want, test.err)
		}
		if err == nil && s.Check(c) != nil {
			t.Errorf("Complete(%s) is no member: %v", test.partial, s.Check(c))
		}
		// Extend does the same in a family that is named.
		for _, f := range s.Families {
			partial := must(ParseConfig(test.partial))
			if partial.Family == "" {
				partial.Family = f.Name
			}
			want, err := s.Complete(partial)
			if got, ok := s.Extend(partial); ok != (err == nil) || ok && !got.Equal(want) {
				t.Errorf("Extend(%s) = %s, %v; Complete gives %s, %v", partial, got, ok, want, err)
			}
		}
	}
}

func TestVerify(t *testing.T) {
	yes := func(Config) bool { return true }
	p := Param{Name: "a", Values: Numbers(1, 2), Default: Int(1)}
	for _, test := range []struct {
		family Family
		want   string
	}{
		{Family{Name: "2"}, `family "2": the name is unfit or taken`},
		{Family{Name: "f", Params: []Param{p, p}}, `family f: parameter "a": the name is unfit or taken`},
		{Family{Name: "f", Params: []Param{{Name: "a", Values: Numbers(1, 1), Default: Int(1)}}},
			"family f: parameter a: 1 is listed twice"},
		{Family{Name: "f", Params: []Param{{Name: "a", Values: Numbers(1), Default: Int(3)}}},
			"family f: parameter a: the default 3 is not among its values"},
		{Family{Name: "f", Params: []Param{
			{Name: "a", Values: Numbers(1), Default: Int(1), When: []Condition{When("b", Yes)}},
		}}, "family f: parameter a depends on b, which does not come before it"},
		{Family{
			Name: "f", Params: []Param{p}, Constraints: []Constraint{{Name: "k", Params: []string{"b"}, Holds: yes}},
		}, `family f: constraint "k": b is unknown or listed twice`},
		{Family{Name: "f", Params: []Param{p}, Constraints: []Constraint{{Name: "k", Params: []string{"a"}}}},
			`family f: constraint "k" relates nothing`},
		{Family{Name: "f", Params: []Param{p}, Constraints: []Constraint{
			{Name: "k", Doc: "d", Params: []string{"a"}, Holds: func(c Config) bool { return c.Int("a") > 1 }},
		}}, "family f: its defaults are not legal: a=1: k (d); the rest being as it is, a=2 would do"},
	} {
		if err := (Space{[]Family{test.family}}).Verify(); text(err) != test.want {
			t.Errorf("got %v\nwant %s", err, test.want)
		}
	}
}

func TestAll(t *testing.T) {
	var got []string
	for c := range loops().All() {
		got = append(got, strings.NewReplacer(
			"family=", "", "block=", "", "threads=", "", "stream=", "", "prefetch=", "").Replace(c.String()))
	}
	// 8 block-and-thread pairs, each with stream none or with k or j and some ahead.
	if len(got) != 3*(1+2*3)+3*(1+2*3)+2*(1+2*2)+2 || got[0] != "loops,0x64x0,1,none" ||
		got[1] != "loops,0x64x0,1,k,0" || got[len(got)-1] != "plain,2" {
		t.Errorf("%d: %s", len(got), got)
	}
	for c := range loops().All() { // stops when told to
		if c.Family != "loops" {
			t.Error(c)
		}
		break
	}
}

// randomSpace generates small spaces with chained conditions and constraints
// of any arity, some of them without a single configuration.
func randomSpace(t *rapid.T) Space {
	var s Space
	for f := range rapid.IntRange(1, 2).Draw(t, "families") {
		fam := Family{Name: fmt.Sprintf("f%d", f)}
		for i := range rapid.IntRange(0, 6).Draw(t, "params") {
			p := Param{Name: fmt.Sprintf("p%d", i), Default: Int(0)}
			for v := range rapid.IntRange(1, 4).Draw(t, "values") {
				p.Values = append(p.Values, Int(int64(v)))
			}
			if i > 0 && rapid.IntRange(0, 2).Draw(t, "conditional") == 0 {
				on := fam.Params[rapid.IntRange(0, i-1).Draw(t, "on")]
				p.When = append(p.When, When(on.Name, on.Values[rapid.IntRange(0, len(on.Values)-1).Draw(t, "value")]))
			}
			fam.Params = append(fam.Params, p)
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "constraints") {
			k := Constraint{Name: fmt.Sprintf("k%d", i)}
			for _, p := range fam.Params {
				if rapid.IntRange(0, 2).Draw(t, "in") == 0 {
					k.Params = append(k.Params, p.Name)
				}
			}
			mod := rapid.Int64Range(1, 4).Draw(t, "mod")
			k.Holds = func(c Config) bool {
				sum := mod
				for j, name := range k.Params {
					sum += int64(j+1) * c.Int(name)
				}
				return sum%mod != 1
			}
			if k.Params != nil {
				fam.Constraints = append(fam.Constraints, k)
			}
		}
		s.Families = append(s.Families, fam)
	}
	return s
}

// everything lists a space's members by trying all products of values.
func everything(s Space) []string {
	var out []string
	for i := range s.Families {
		f := &s.Families[i]
		partial := []Config{{Family: f.Name}}
		for _, p := range f.Params {
			var next []Config
			for _, c := range partial {
				next = append(next, c)
				for _, v := range p.Values {
					next = append(next, c.With(p.Name, v))
				}
			}
			partial = next
		}
		for _, c := range partial {
			if s.Check(c) == nil {
				out = append(out, c.String())
			}
		}
	}
	return out
}

func TestCountAndWalkAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomSpace(t)
		want := everything(s)
		slices.Sort(want)
		var all []string
		for c := range s.All() {
			all = append(all, c.String())
		}
		slices.Sort(all)
		if !slices.Equal(all, want) {
			t.Fatalf("All gives %v\nwant %v", all, want)
		}
		if n := s.Count(); n.Cmp(big.NewInt(int64(len(want)))) != 0 {
			t.Fatalf("Count is %v, want %d", n, len(want))
		}
		rng := rand.New(rand.NewPCG(1, 2))
		n := rapid.IntRange(0, 30).Draw(t, "n")
		sample := s.Sample(rng, n)
		if len(sample) != min(n, len(want)) {
			t.Fatalf("Sample(%d) of %d gives %d", n, len(want), len(sample))
		}
		seen := make(map[string]bool)
		for _, c := range sample {
			if err := s.Check(c); err != nil || !s.Has(c) || seen[c.String()] {
				t.Fatalf("Sample gives %s: twice, or %v", c, err)
			}
			seen[c.String()] = true
		}
	})
}

// Complete finds a member whenever one agrees with what is given.
func TestCompleteAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomSpace(t)
		f := s.Families[0]
		partial := Config{Family: f.Name}
		for _, p := range f.Params {
			if rapid.IntRange(0, 2).Draw(t, "given") == 0 {
				partial = partial.With(p.Name, rapid.SampledFrom(p.Values).Draw(t, "value"))
			}
		}
		possible := false
		for c := range s.All() {
			agrees := c.Family == f.Name
			for _, set := range partial.Values {
				v, ok := c.Get(set.Name)
				agrees = agrees && ok && v.Equal(set.Value)
			}
			possible = possible || agrees
		}
		c, err := s.Complete(partial)
		if (err == nil) != possible {
			t.Fatalf("Complete(%s) = %s, %v, possible: %v", partial, c, err, possible)
		}
		if err != nil {
			return
		}
		if err := s.Check(c); err != nil {
			t.Fatalf("Complete(%s) = %s: %v", partial, c, err)
		}
		for _, set := range partial.Values {
			if v, _ := c.Get(set.Name); !v.Equal(set.Value) {
				t.Fatalf("Complete(%s) = %s", partial, c)
			}
		}
	})
}

// Every member is drawn with equal chance, to within what chance allows.
func TestDrawIsUniform(t *testing.T) {
	s := loops()
	counter := s.Counter()
	n := int(counter.Count().Int64())
	const each = 400
	hits := make(map[string]int)
	rng := rand.New(rand.NewPCG(3, 4))
	for range n * each {
		hits[counter.Draw(rng).String()]++
	}
	chi := 0.0
	for c := range s.All() {
		d := float64(hits[c.String()] - each)
		chi += d * d / each
	}
	// chi squared has mean n-1 and variance 2(n-1): six deviations.
	if df := float64(n - 1); chi > df+6*math.Sqrt(2*df) {
		t.Errorf("chi squared %.0f for %d members", chi, n)
	}
	if len(hits) != n {
		t.Errorf("%d of %d members were drawn", len(hits), n)
	}
}

// workGroups is the space of Garvey and Abdelrahman (2018), section 4.7, table
// 1, without the restrictions that follow it: per dimension the products of
// work-group size, block and cyclic merge factors are at most n, the vector
// width is at most the block merge factor in x, and a work-group has a limit.
func workGroups(n int64) Space {
	var powers []Value
	for p := int64(1); p <= n; p *= 2 {
		powers = append(powers, Int(p))
	}
	f := Family{Name: "work-items"}
	for _, d := range []string{"x", "y", "z"} {
		for _, name := range []string{"w", "b", "c"} {
			f.Params = append(f.Params, Param{Name: name + d, Values: powers, Default: Int(1)})
		}
		f.Constraints = append(f.Constraints, Constraint{Name: "grid " + d, Params: []string{"w" + d, "b" + d, "c" + d},
			Holds: func(c Config) bool { return c.Int("w"+d)*c.Int("b"+d)*c.Int("c"+d) <= n }})
	}
	f.Params = append(f.Params,
		Param{Name: "vx", Values: Numbers(1, 2, 4, 8, 16), Default: Int(1)},
		Param{Name: "local", Values: []Value{No, Yes}, Default: No},
		Param{Name: "image", Values: []Value{No, Yes}, Default: No})
	f.Constraints = append(f.Constraints,
		Constraint{Name: "vector", Params: []string{"vx", "bx"},
			Holds: func(c Config) bool { return c.Int("vx") <= c.Int("bx") }},
		Constraint{Name: "work-group", Params: []string{"wx", "wy", "wz"},
			Holds: func(c Config) bool { return c.Int("wx")*c.Int("wy")*c.Int("wz") <= 1024 }})
	return Space{[]Family{f}}
}

func TestLargeSpaces(t *testing.T) {
	small := workGroups(4)
	if want, n := len(slices.Collect(small.All())), small.Count(); n.Int64() != int64(want) {
		t.Errorf("Count is %v, want %d", n, want)
	}
	counter := workGroups(512).Counter()
	if n := counter.Count(); n.Cmp(big.NewInt(50_000_000)) < 0 {
		t.Errorf("the space of the paper has over 50 million members, not %v", n)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	s := workGroups(512)
	for range 100 {
		if err := s.Check(counter.Draw(rng)); err != nil {
			t.Fatal(err)
		}
	}
	// Twenty independent copies: the count is exact beyond 64 bits.
	var many Family
	many.Name = "many"
	for i := range 20 {
		rename := func(name string) string { return fmt.Sprintf("%s%d", name, i) }
		for _, p := range loops().Families[0].Params {
			p.Name = rename(p.Name)
			if p.When != nil {
				p.When = []Condition{When(rename(p.When[0].Param), p.When[0].In...)}
			}
			many.Params = append(many.Params, p)
		}
	}
	want := new(big.Int).Exp(big.NewInt(3*3*(1+2*3)), big.NewInt(20), nil)
	if n := (Space{[]Family{many}}).Count(); n.Cmp(want) != 0 {
		t.Errorf("Count is %v, want %v", n, want)
	}
	if got := (Space{[]Family{many}}).Sample(rng, 50); len(got) != 50 {
		t.Errorf("Sample gives %d", len(got))
	}
}

func BenchmarkCount(b *testing.B) {
	for b.Loop() {
		workGroups(512).Count()
	}
}

func BenchmarkSample(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for b.Loop() {
		workGroups(512).Sample(rng, 1000)
	}
}

func TestPlanText(t *testing.T) {
	for _, text := range []string{
		"", "threads=2", "family=loops,block=0x64x0,threads=2",
		"heat[0:1]@1{family=loops,block=0x64x0,threads=2};norm.2[1:4]@8{}",
		"threads=2;heat[0:1]@1{family=loops}",
		"body[0:2]@8{family=pipe};body[0:2]@2{family=pipe}",
		"flux[0:1]@1{};sequence[0:2,4,6:9]@1{family=planes};sequence[2,5]@1{}",
	} {
		p, err := ParsePlan(text)
		if err != nil || p.String() != text {
			t.Errorf("ParsePlan(%q) = %q, %v", text, p, err)
		}
	}
	for text, want := range map[string]string{"sequence[4,1,0]@1{}": "sequence[0:2,4]@1{}",
		"sequence[3]@1{}": "sequence[3:4]@1{}", "sequence[0,1:3]@2{}": "sequence[0:3]@2{}"} {
		if p, err := ParsePlan(text); err != nil || p.String() != want {
			t.Errorf("%q becomes %q, %v", text, p, err)
		}
	}
	for _, test := range []struct{ text, want string }{
		{"heat{a=1}", `"heat{a=1}" is no kernel of a plan: write call[from:to]@depth{name=value,...}`},
		{"heat[0:1]@1{a=1", `"heat[0:1]@1{a=1" is no kernel of a plan: write call[from:to]@depth{name=value,...}`},
		{"heat[0:1]@01{}", `"heat[0:1]@01{}" is no kernel of a plan: write call[from:to]@depth{name=value,...}`},
		{"heat[0:1]@1{};", `"" is no kernel of a plan: write call[from:to]@depth{name=value,...}`},
		{"heat[0:1]@1{};a=1", `"a=1" is no kernel of a plan: write call[from:to]@depth{name=value,...}`},
		{"heat[0:1]@1{};heat[0:2]@1{};heat[0:1]@1{a=1}",
			"heat[0:1] stands twice in the plan: name each kernel once, with all its settings"},
		{"body[0:2]@8{};body[0:2]@2{};body[0:2]@8{}",
			"body[0:2]@8 stands twice in the plan: name each kernel once, with all its settings"},
		{"heat[1:1]@1{}", "heat[1:1] holds no statement: it means the statements from 1 to before 1"},
		{"sequence[0,2,1:3]@1{}", "sequence[0,2,1:3] names 2 twice: name each statement once"},
		{"sequence[0,5000]@1{}", "sequence[0,5000] names statement 5000: sets are of the first 4096 at most"},
		{"sequence[0,2:2]@1{}", "sequence[0,2:2] holds no statement: it means the statements from 2 to before 2"},
		{"sequence[0,]@1{}", `"sequence[0,]@1{}" is no kernel of a plan: write call[from:to]@depth{name=value,...}`},
		{"sequence[2,0]@1{};sequence[0,2]@1{}",
			"sequence[0,2] stands twice in the plan: name each kernel once, with all its settings"},
		{"heat[0:1]@0{}", "heat: a depth of 0 time steps: it is at least 1"},
		{"heat[0:1]@1{a}", `heat: "a" is no setting: write name=value`},
		{"a=1,b", `"b" is no setting: write name=value`},
	} {
		if _, err := ParsePlan(test.text); text(err) != test.want {
			t.Errorf("ParsePlan(%q): %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestPlanRoundTrip(t *testing.T) {
	name := rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_.-]{0,6}`)
	value := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) Value { return Word(name.Draw(t, "word")) }),
		rapid.Custom(func(t *rapid.T) Value {
			l := rapid.SliceOfN(rapid.Int64(), 1, 4).Draw(t, "ints")
			return Int(l[0], l[1:]...)
		}))
	config := rapid.Custom(func(t *rapid.T) Config {
		var c Config
		if rapid.Bool().Draw(t, "named") {
			c.Family = name.Draw(t, "family")
		}
		for range rapid.IntRange(0, 4).Draw(t, "settings") {
			if n := name.Draw(t, "name"); n != "family" && formerOf(n) == nil {
				c = c.With(n, value.Draw(t, "value"))
			}
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Plan{Every: config.Draw(t, "every")}
		for range rapid.IntRange(0, 3).Draw(t, "kernels") {
			from := rapid.IntRange(0, 9).Draw(t, "from")
			k := Kernel{Call: name.Draw(t, "call"), From: from, To: from + rapid.IntRange(1, 9).Draw(t, "n"),
				Depth: rapid.IntRange(1, 99).Draw(t, "depth"), Config: config.Draw(t, "config")}
			if more := k.To + rapid.IntRange(0, 5).Draw(t, "more"); rapid.Bool().Draw(t, "set") {
				k = k.Having(append(k.Members(), more))
			}
			if !slices.ContainsFunc(p.Kernels, func(q Kernel) bool { return q.ID() == k.ID() }) {
				p.Kernels = append(p.Kernels, k)
			}
		}
		got, err := ParsePlan(p.String())
		if err != nil || got.String() != p.String() || len(got.Kernels) != len(p.Kernels) || !got.Every.Equal(p.Every) {
			t.Fatalf("%q becomes %q, %v", p, got, err)
		}
		for i, k := range got.Kernels {
			if w := p.Kernels[i]; k.Call != w.Call || k.From != w.From || k.To != w.To || k.Depth != w.Depth ||
				!k.Config.Equal(w.Config) || !slices.Equal(k.Members(), w.Members()) {
				t.Fatalf("%v becomes %v", w, k)
			}
		}
	})
}

func must(c Config, err error) Config {
	if err != nil {
		panic(err)
	}
	return c
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
