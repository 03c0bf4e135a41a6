package schedule_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

var axes = []string{"l", "k", "j", "i"}

// Counting and sampling the spaces of GPU kernels takes milliseconds, and those who
// search them rely on it. Most of the work is asking constraints, so these are
// counted: some 100 ns each, whatever else the machine does.
func TestRealSpacesAreFast(t *testing.T) {
	const forCount, forEach = 1_000_000, 2_000
	rng := rand.New(rand.NewPCG(1, 2))
	for rank := 1; rank <= len(axes); rank++ {
		s := lower.Space(lower.GPU, axes[len(axes)-rank:])
		asked := 0
		for f := range s.Families {
			list := slices.Clone(s.Families[f].Constraints)
			for i := range list {
				holds := list[i].Holds
				list[i].Holds = func(c schedule.Config) bool { asked++; return holds(c) }
			}
			s.Families[f].Constraints = list
		}
		counter := s.Counter()
		n, counted := counter.Count(), asked
		var sample []schedule.Config
		draw := func(from *schedule.Counter) int { // how often a draw asks
			before := asked
			for range 1000 {
				sample = append(sample, from.Draw(rng))
			}
			return (asked - before) / 1000
		}
		drawn := draw(counter)
		// Families that have no constraints may be almost all of the space.
		some := schedule.Space{Families: slices.DeleteFunc(slices.Clone(s.Families),
			func(f schedule.Family) bool { return len(f.Constraints) == 0 })}
		fewer := draw(some.Counter())
		t.Logf("%d axes: constraints were asked %d times to count, %d or %d times for a draw", rank, counted, drawn,
			fewer)
		if counted > forCount || max(drawn, fewer) > forEach || rank > 1 && fewer == 0 {
			t.Errorf("%d axes: constraints were asked %d times to count, %d or %d times for a draw", rank, counted,
				drawn, fewer)
		}
		if rank > 1 && n.Cmp(big.NewInt(1_000_000)) < 0 || len(sample) != 2000 {
			t.Errorf("%d axes: %v members, %d in the sample", rank, n, len(sample))
		}
		for _, c := range sample {
			if err := s.Check(c); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Counts agree with what trying all combinations finds, where so much is fixed
// that they can be tried.
func TestRealSpacesAgainstBruteForce(t *testing.T) {
	for _, test := range []struct {
		axes   []string
		limits []string
	}{
		{axes[3:], []string{"sizes=arguments", "load=plain"}},
		{axes[2:], []string{
			"family=tile", "block<=64", "registers=0|255", "load=plain", "sizes!=literals", "store=plain",
		}},
		{axes[2:], []string{
			"family=planes", "vec<=2", "chunk=0|7|32", "block=64|32|512", "registers>=128", "sizes=arguments",
			"unroll=0", "stages<=1", "loads=together|first", "stores=together", "columns!=halos",
		}},
		{axes[1:], []string{
			"family=tile", "block=1x2x32|4x4x64|8x2x16", "repeat<=2", "shuffle=yes", "load!=plain", "sizes=arguments",
		}},
		{axes[1:], []string{
			"family!=cells", "vec>=4", "rows<=4", "repeat=1x1x1|4x1x2|2x1x4", "block=4x64|8x16|1x4x64",
			"registers=0|64", "load=plain", "sizes=literals", "store=plain", "chunk=4|16", "stages=1", "prefetch=1",
			"loads=terms", "columns=grids|none",
		}},
		{axes, []string{
			"family=tile", "repeat=1x1x1|2x1x2", "vec=2", "block=1x4x64|2x2x16", "load=plain", "registers=96|0",
			"sizes=arguments", "store=plain",
		}},
	} {
		s := lower.Space(lower.GPU, test.axes)
		for _, l := range test.limits {
			var err error
			if s, err = s.Limit(l); err != nil {
				t.Fatalf("%v: %s: %v", test.axes, l, err)
			}
		}
		want, all := combinations(t, s), int64(0)
		for range s.All() {
			all++
		}
		if n := s.Count(); n.Cmp(big.NewInt(want)) != 0 || all != want || want == 0 {
			t.Errorf("%v, %v: Count is %v and All gives %d, want %d", test.axes, test.limits, n, all, want)
		}
		if err := s.Verify(); err != nil {
			t.Errorf("%v, %v: %v", test.axes, test.limits, err)
		}
	}
}

// combinations counts the members of a space by trying every combination of values of
// the parameters that exist. Has judges each of them, and Check has to say the same of
// every thousandth: it also works out what would do instead, which takes ten times as long.
func combinations(t *testing.T, s schedule.Space) int64 {
	const each = 1009 // a prime, so that no parameter has the same value at each of them
	count, tried := int64(0), 0
	for _, f := range s.Families {
		c := schedule.Config{Family: f.Name}
		lacking := func(w schedule.Condition) bool {
			v, ok := c.Get(w.Param)
			return !ok || !slices.ContainsFunc(w.In, v.Equal)
		}
		var try func(at int)
		try = func(at int) {
			switch {
			case at == len(f.Params):
				has := s.Has(c)
				if has {
					count++
				}
				if tried++; tried%each == 1 {
					if err := s.Check(c); has != (err == nil) {
						t.Errorf("Has says %v of %v, and Check says %v", has, c, err)
					}
				}
				return
			case slices.ContainsFunc(f.Params[at].When, lacking):
				try(at + 1)
				return
			}
			for _, v := range f.Params[at].Values {
				c.Values = append(c.Values, schedule.Setting{Name: f.Params[at].Name, Value: v})
				try(at + 1)
				c.Values = c.Values[:len(c.Values)-1]
			}
		}
		try(0)
	}
	return count
}

func BenchmarkRealSpaces(b *testing.B) {
	for rank := 1; rank <= len(axes); rank++ {
		s := lower.Space(lower.GPU, axes[len(axes)-rank:])
		b.Run(fmt.Sprintf("count/%d", rank), func(b *testing.B) {
			for b.Loop() {
				s.Count()
			}
		})
		counter, rng := s.Counter(), rand.New(rand.NewPCG(1, 2))
		b.Run(fmt.Sprintf("draw/%d", rank), func(b *testing.B) {
			for b.Loop() {
				counter.Draw(rng)
			}
		})
		b.Run(fmt.Sprintf("restrict/%d", rank), func(b *testing.B) {
			for b.Loop() {
				less, err := s.Limit("block<=256")
				if err != nil {
					b.Fatal(err)
				}
				less.Count()
			}
		})
	}
}
