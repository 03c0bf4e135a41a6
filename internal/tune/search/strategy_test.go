package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// makers lists every strategy, with arguments that matter, and whether it goes on
// until the space is exhausted.
func makers() map[string]bool {
	whole := map[string]bool{}
	for _, info := range Names() {
		whole[info.Name] = !ends[info.Name]
	}
	for _, n := range neighbourhoods {
		whole["local:"+n.name] = true
	}
	return whole
}

// ends lists the strategies that end before the space does.
var ends = map[string]bool{"expert": true, "dimension": true, "optimisation": true, "hybrid": true,
	"hybrid-restricted": true, "hierarchical": true}

func makersSorted() []string {
	var names []string
	for name := range makers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fates say what becomes of points.
var fates = map[string]func(text string) verdict.Verdict{
	"good":    func(string) verdict.Verdict { return verdict.OK },
	"refused": func(string) verdict.Verdict { return verdict.Launch },
	"wrong":   func(string) verdict.Verdict { return verdict.Wrong },
	"mixed": func(text string) verdict.Verdict {
		return []verdict.Verdict{verdict.OK, verdict.OK, verdict.OK, verdict.Launch, verdict.Wrong}[hash(text, 7)%5]
	},
}

// scripted is the trial that a point always has.
func scripted(s Space, p Point, fate func(string) verdict.Verdict) Trial {
	text := s.Text(p)
	t := Trial{Point: p, Verdict: fate(text), Cost: 1}
	if t.Verdict == verdict.OK {
		t.Seconds = 1e-3 * float64(1+hash(text, 1)%1000)
		t.Registers = int(hash(text, 2) % 256)
		if t.Registers > 200 {
			t.Spills = 8
		}
	}
	return t
}

// call is one thing that was said to a strategy: told, if positive, is how many
// trials it was told of, and otherwise asked how many points.
type call struct {
	asked int
	got   []Point
	told  *Trial
}

// reporter is what tests and properties have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// converse drives a strategy to its end, with up to width points under way.
func converse(t reporter, s Strategy, space Space, width int, fate func(string) verdict.Verdict, rng *rand.Rand,
	most int) []call {
	t.Helper()
	var log []call
	var under []Point
	seen := map[string]bool{}
	for {
		got := s.Ask(width - len(under))
		if len(got) > width-len(under) {
			t.Fatalf("asked for %d and got %d", width-len(under), len(got))
		}
		log = append(log, call{asked: width - len(under), got: got})
		for _, p := range got {
			if !space.Legal(p) {
				t.Fatalf("%v is not legal", p)
			}
			if seen[p.Key()] {
				t.Fatalf("%s was asked for twice", space.Text(p))
			}
			seen[p.Key()] = true
		}
		under = append(under, got...)
		if len(under) == 0 || len(seen) > most {
			return log
		}
		for range 1 + rng.IntN(len(under)) {
			trial := scripted(space, under[0], fate)
			under = under[1:]
			s.Tell(trial)
			log = append(log, call{told: &trial})
		}
	}
}

func asked(log []call) []Point {
	var list []Point
	for _, c := range log {
		list = append(list, c.got...)
	}
	return list
}

// replay says the same to another strategy, in other portions and with guesses
// in between, and compares what it wants.
func replay(t reporter, s Strategy, space Space, log []call, rng *rand.Rand) {
	t.Helper()
	for i, c := range log {
		if rng.IntN(2) == 0 {
			list := s.Likely(5)
			if len(list) > 5 {
				t.Fatalf("%d likely points for 5", len(list))
			}
			for _, p := range list {
				if !space.Legal(p) {
					t.Fatalf("%v is likely and not legal", p)
				}
			}
		}
		if c.told != nil {
			s.Tell(*c.told)
			continue
		}
		var got []Point
		for len(got) < c.asked {
			more := s.Ask(1 + rng.IntN(c.asked-len(got)))
			if len(more) == 0 {
				break
			}
			got = append(got, more...)
		}
		if !slices.EqualFunc(got, c.got, slices.Equal[Point]) {
			t.Fatalf("call %d: wanted %v at first and then %v", i, c.got, got)
		}
	}
}

// TestStrategiesKeepTheirWord is what holds for all strategies, on random spaces.
func TestStrategiesKeepTheirWord(t *testing.T) {
	for _, name := range makersSorted() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				space := drawSpace(t)
				estimated := rapid.Bool().Draw(t, "estimated")
				fate := fates[rapid.SampledFrom([]string{"good", "good", "mixed", "mixed", "refused", "wrong"}).Draw(t,
					"fate")]
				width := rapid.IntRange(1, 8).Draw(t, "width")
				p := Problem{Space: space, Seed: rapid.Uint64Range(0, 3).Draw(t, "seed"),
					Budget: rapid.SampledFrom([]int{0, 1, 20, 200}).Draw(t, "budget")}
				if estimated {
					p.Estimate = func(p Point) (float64, bool) {
						h := hash(space.Text(p), 5)
						return float64(h % 100), h%4 > 0
					}
				}
				if rapid.Bool().Draw(t, "known") {
					for q := range space.All() {
						if hash(space.Text(q), 9)%5 == 0 {
							p.Good = append(p.Good, slices.Clone(q))
						}
					}
				}
				rng := rand.New(rand.NewPCG(uint64(width), 1))
				s, err := New(name, p)
				if err != nil {
					t.Fatal(err)
				}
				log := converse(t, s, space, width, fate, rng, 1<<30)
				if n := len(asked(log)); makers()[name] && int64(n) != space.Count().Int64() {
					t.Fatalf("%d of %v points were asked for", n, space.Count())
				}
				again, err := New(name, p)
				if err != nil {
					t.Fatal(err)
				}
				replay(t, again, space, log, rng)
			})
		})
	}
}

// TestTinySpaces ends at once, or after one point.
func TestTinySpaces(t *testing.T) {
	for _, name := range makersSorted() {
		for points, space := range map[int]*KernelSpace{0: emptySpace(), 1: singleSpace()} {
			s, err := New(name, Problem{Space: space})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(s.Likely(3)); n > points {
				t.Errorf("%s: %d likely points of %d", name, n, points)
			}
			for _, fate := range fates {
				s, _ := New(name, Problem{Space: space})
				log := converse(t, s, space, 8, fate, rand.New(rand.NewPCG(1, 1)), 100)
				if n := len(asked(log)); n != points {
					t.Errorf("%s: %d points of %d", name, n, points)
				}
			}
		}
	}
}

// An estimate that puts every point off keeps nobody from asking for them, and one
// that puts off a part has the rest asked for first.
func TestPutOff(t *testing.T) {
	space := Of(twoFamilies())
	for _, name := range makersSorted() {
		problem := Problem{Space: space, Seed: 3, Budget: 40, Estimate: func(Point) (float64, bool) { return 1, false }}
		s, err := New(name, problem)
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := New(name, Problem{Space: space, Seed: 3, Budget: 40})
		n := len(asked(converse(t, s, space, 4, fates["good"], rand.New(rand.NewPCG(1, 1)), 10000)))
		want := len(asked(converse(t, plain, space, 4, fates["good"], rand.New(rand.NewPCG(1, 1)), 10000)))
		if n == 0 || !ends[name] && n != want {
			t.Errorf("%s: %d points are asked for, %d without an estimate", name, n, want)
		}
	}
	huge := hugeSpace()
	late := func(p Point) bool { return p[1]%4 != 0 }
	for _, name := range []string{"auto", "genetic", "local", "annealing"} {
		s, err := New(name, Problem{Space: huge, Seed: 3, Budget: 60, Estimate: func(p Point) (float64,
			bool) {
			return 1, !late(p)
		}})
		if err != nil {
			t.Fatal(err)
		}
		points := asked(converse(t, s, huge, 4, fates["good"], rand.New(rand.NewPCG(1, 1)), 60))
		n := 0
		for _, p := range points[:20] {
			if late(p) {
				n++
			}
		}
		if n > 10 {
			t.Errorf("%s: %d of the first 20 points were to be put off", name, n)
		}
	}
}

// TestHugeSpace asks for some points of 10^9.
func TestHugeSpace(t *testing.T) {
	const most = 80
	space := hugeSpace()
	for _, name := range makersSorted() {
		t.Run(name, func(t *testing.T) {
			for _, fate := range []string{"refused", "mixed"} {
				p := Problem{Space: space, Seed: 1, Budget: most}
				s, err := New(name, p)
				if err != nil {
					t.Fatal(err)
				}
				log := converse(t, s, space, 8, fates[fate], rand.New(rand.NewPCG(1, 1)), most)
				if n := len(asked(log)); n < most && !ends[name] {
					t.Errorf("only %d points were asked for", n)
				}
				again, _ := New(name, p)
				replay(t, again, space, log, rand.New(rand.NewPCG(2, 2)))
			}
		})
	}
}

// TestToldUnasked tells of points that were tried elsewhere: they are not asked for.
func TestToldUnasked(t *testing.T) {
	space := Of(twoFamilies())
	known := map[string]bool{}
	var before []Trial
	for p := range space.All() {
		if hash(space.Text(p), 11)%2 == 0 {
			known[p.Key()] = true
			before = append(before, scripted(space, slices.Clone(p), fates["mixed"]))
		}
	}
	for _, name := range makersSorted() {
		s, err := New(name, Problem{Space: space, Seed: 3, Known: before})
		if err != nil {
			t.Fatal(err)
		}
		log := converse(t, s, space, 4, fates["mixed"], rand.New(rand.NewPCG(1, 1)), 1<<30)
		for _, p := range asked(log) {
			if known[p.Key()] {
				t.Errorf("%s asked for %s", name, space.Text(p))
			}
		}
		if n := int64(len(asked(log)) + len(known)); makers()[name] && n != space.Count().Int64() {
			t.Errorf("%s: %d of %v points are known", name, n, space.Count())
		}
	}
}

// TestRandomIsUniform draws the first two points of many searches.
func TestRandomIsUniform(t *testing.T) {
	space := Of(twoFamilies())
	n := int(space.Count().Int64())
	const rounds = 1500
	counts := map[string]int{}
	for seed := range uint64(rounds) {
		s, _ := New("random", Problem{Space: space, Seed: seed})
		for _, p := range s.Ask(2) {
			counts[p.Key()]++
		}
	}
	chi := 0.0
	want := 2 * rounds / float64(n)
	for p := range space.All() {
		d := float64(counts[p.Key()]) - want
		chi += d * d / want
	}
	// The statistic's mean is n-1, its variance at most 2(n-1).
	if limit := float64(n) + 6*math.Sqrt(2*float64(n)); len(counts) != n || chi > limit {
		t.Errorf("%d of %d points came, chi squared is %.0f", len(counts), n, chi)
	}
}

func TestNewErrors(t *testing.T) {
	p := Problem{Space: singleSpace()}
	for name, want := range map[string]string{
		"rnadom":     `there is no strategy "rnadom"; there are auto, random, exhaustive, `,
		"random:3":   "the strategy random takes no argument",
		"local:away": `the strategy local: there is no neighbourhood "away"; there are all adjacent any exchange`,
	} {
		_, err := New(name, p)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func ExampleNames() {
	for _, info := range Names()[1:3] {
		fmt.Printf("%s: %s\n", info.Name, info.Doc)
	}
	// Output:
	// random: points at random, without replacement
	// exhaustive: every point, in the space's order
}

// TestEstimatesOnce: an estimate may be expensive, so it is computed once.
func TestEstimatesOnce(t *testing.T) {
	space := Of(twoFamilies())
	for _, name := range makersSorted() {
		asked := map[string]int{}
		s, err := New(name, Problem{Space: space, Seed: 1, Estimate: func(p Point) (float64, bool) {
			asked[p.Key()]++
			return 1 + float64(p[0]), true
		}})
		if err != nil {
			t.Fatal(err)
		}
		run(s, 30, func(p Point) Trial { return scripted(space, p, fates["mixed"]) })
		for p := range space.All() {
			if n := asked[p.Key()]; n > 1 {
				t.Errorf("%s asks %d times for the estimate of %s", name, n, space.Text(p))
			}
		}
	}
}
