package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// garveySpace has the parameters of Garvey 2018, table 1, for a grid of n cells
// on each axis, all powers of two and no constraint but that the products fit.
func garveySpace(n int64) *KernelSpace {
	f := schedule.Family{Name: "kernel"}
	var powers []schedule.Value
	for v := int64(1); v <= n; v *= 2 {
		powers = append(powers, schedule.Int(v))
	}
	add := func(name string, values []schedule.Value) {
		f.Params = append(f.Params, schedule.Param{Name: name, Values: values, Default: values[0]})
	}
	for _, axis := range []string{"X", "Y", "Z"} {
		for _, p := range []string{"W", "B", "C"} {
			add(p+axis, powers)
		}
		names := []string{"W" + axis, "B" + axis, "C" + axis}
		f.Constraints = append(f.Constraints, schedule.Constraint{Name: "fits " + axis, Params: names,
			Holds: func(c schedule.Config) bool {
				return c.Int(names[0])*c.Int(names[1])*c.Int(names[2]) <= n
			}})
	}
	add("VX", numbers(1, 2, 4))
	add("USE_LOCAL_MEMORY_INPUT", numbers(0, 1))
	add("STORE_ARRAYS_AS_IMAGES", numbers(0, 1))
	return Of(schedule.Space{Families: []schedule.Family{f}})
}

// algorithm3 is the file of Garvey 2018, algorithm 3, as it is printed.
const algorithm3 = `BX=1,BY=1,BZ=1,WY=1,WZ=1,CY=1,CZ=1,USE_LOCAL_MEMORY_INPUT=1,VX=1,
STORE_ARRAYS_AS_IMAGES=0,WX=1:NX:*2,CX=1:NX/WX:*2;
WY=1:NY:*2, CY=1:NY/WY:*2;
WZ=1:NZ:*2, CZ=1:NZ/WZ:*2;
WX=1:NX:*2, CX=1:NX/WX:*2;
WY=1:NY:*2, CY=1:NY/WY:*2;
WZ=1:NZ:*2, CZ=1:NZ/WZ:*2;
`

// value returns a number of a point by name.
func value(s *KernelSpace, p Point, name string) int64 {
	i := slices.IndexFunc(s.Params(), func(p Param) bool { return p.Name == name })
	return s.Params()[i].Values[p[i]].Ints()[0]
}

// TestAlgorithm3 carries out the published file on its own space.
func TestAlgorithm3(t *testing.T) {
	const n = 16
	space := garveySpace(n)
	s, err := NewHeuristic("a3", algorithm3, "", Problem{Space: space, Sizes: map[string]int64{"x": n, "y": n, "z": n}})
	if err != nil {
		t.Fatal(err)
	}
	// The optimum is at WX=8 CX=2 WY=4 CY=1 WZ=1 CZ=4. Times are separable, so that one
	// pass finds it; the second looks at x and y again, around the values found since.
	time := func(p Point) float64 {
		d := 0.0
		for name, best := range map[string]int64{"WX": 8, "CX": 2, "WY": 4, "CY": 1, "WZ": 1, "CZ": 4} {
			for v := value(space, p, name); v != best; d++ {
				if v < best {
					v *= 2
				} else {
					v /= 2
				}
			}
		}
		return 1 + d
	}
	var steps []int
	best, last := 1e9, Point(nil)
	for {
		points := s.Ask(1000)
		if len(points) == 0 {
			break
		}
		steps = append(steps, len(points))
		for _, p := range points {
			if value(space, p, "BX") != 1 || value(space, p, "USE_LOCAL_MEMORY_INPUT") != 1 ||
				value(space, p, "VX") != 1 {
				t.Errorf("%s is not what the first line says", space.Text(p))
			}
			if time(p) < best {
				best, last = time(p), p
			}
			s.Tell(Trial{Point: p, Seconds: time(p)})
		}
	}
	// 5 powers of two up to 16: 15 pairs with W*C <= 16, one of which is known from the step before.
	if want := []int{15, 14, 14, 14, 14}; !slices.Equal(steps, want) {
		t.Errorf("the steps have %v points, not %v", steps, want)
	}
	if best != 1 {
		t.Errorf("found %s", space.Text(last))
	}
}

// specSpace is what the tables below are about.
func specSpace() *KernelSpace {
	shapes := []schedule.Value{}
	for _, y := range []int64{1, 2, 4} {
		for _, x := range []int64{16, 32, 64} {
			shapes = append(shapes, schedule.Int(y, x))
		}
	}
	shared := schedule.Param{Name: "stages", Values: numbers(0, 1), Default: schedule.Int(0)}
	ahead := schedule.Param{Name: "prefetch", Values: numbers(1, 2), Default: schedule.Int(1),
		When: []schedule.Condition{schedule.When("stages", schedule.Int(1))}}
	block := schedule.Param{Name: "block", Values: shapes, Default: shapes[0]}
	vec := schedule.Param{Name: "vec", Values: numbers(1, 2, 4), Default: schedule.Int(1)}
	load := schedule.Param{Name: "load", Values: schedule.Words("plain", "readonly"), Default: schedule.Word("plain")}
	wide := schedule.Constraint{Name: "wide", Params: []string{"block", "vec"},
		Holds: func(c schedule.Config) bool { return c.Ints("block")[1]*c.Int("vec") <= 128 }}
	return Of(withRoles(schedule.Space{Families: []schedule.Family{
		{Name: "tile", Params: []schedule.Param{block, vec, load}, Constraints: []schedule.Constraint{wide}},
		{Name: "planes", Params: []schedule.Param{block, vec, shared, ahead}},
	}}))
}

// TestSteps says which points the first step of a file tries, from the default
// family=tile,block=1x16,vec=1,load=plain on.
func TestSteps(t *testing.T) {
	tile := func(block string, vec int) string {
		return fmt.Sprintf("family=tile,block=%s,vec=%d,load=plain", block, vec)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"one value", "vec = 2;", []string{tile("1x16", 2)}},
		{"no semicolon at the end", "vec = 2", []string{tile("1x16", 2)}},
		{"a list", "vec = {4, 1};", []string{tile("1x16", 1), tile("1x16", 4)}},
		{"all", "vec = all;", []string{tile("1x16", 1), tile("1x16", 2), tile("1x16", 4)}},
		{"a product", "block.x = 16:32:*2, block.y = 2:4:*2;", []string{tile("2x16", 1), tile("2x32", 1),
			tile("4x16", 1), tile("4x32", 1)}},
		{"steps by addition", "block.x = 16:64:+16;", []string{tile("1x16", 1), tile("1x32", 1), tile("1x64", 1)}},
		{"steps of one", "vec = 1:3;", []string{tile("1x16", 1), tile("1x16", 2)}},
		{"a range that depends on a value", "block.x = {32, 64}, vec = 1:128/block.x:*2;",
			[]string{tile("1x32", 1), tile("1x32", 2), tile("1x32", 4), tile("1x64", 1), tile("1x64", 2)}},
		{"the space's constraints hold", "block.x = 64, vec = all;", []string{tile("1x64", 1), tile("1x64", 2)}},
		{"sizes", "block.x = 1:NX/2:*2;", []string{tile("1x16", 1), tile("1x32", 1)}},
		{"sizes nobody knows are no bounds", "block.x = 16:NZ:*2;", []string{tile("1x16", 1), tile("1x32", 1),
			tile("1x64", 1)}},
		{"a condition", "block.x = all, block.y = all where block.x*block.y == 64;",
			[]string{tile("1x64", 1), tile("2x32", 1), tile("4x16", 1)}},
		{"a condition on what is not tuned", "block.x = all where vec == 2;", []string{tile("1x16", 1)}},
		{"the best so far", "block.x = 4*best(block.x);", []string{tile("1x64", 1)}},
		{"a pattern", `"*.y" = {2, 4};`, []string{tile("2x16", 1), tile("4x16", 1)}},
		{"a pattern by the axis that a parameter acts on", `"vec.x" = {2, 4};`,
			[]string{tile("1x16", 2), tile("1x16", 4)}},
		{"a pattern of which some have the value", `"*.x" = 4;`, []string{tile("1x16", 4)}},
		{"products of patterns", `"block.*" = all where product("block.*") == 256;`, []string{tile("4x64", 1)}},
		{"what is not there", `cube? = all, vec = 2;`, []string{tile("1x16", 2)}},
		{"what is not there counts as 1", `vec = 1 + cube?;`, []string{tile("1x16", 2)}},
		{"words", `load = "readonly";`, []string{"family=tile,block=1x16,vec=1,load=readonly"}},
		{"words compared", `load = all, vec = {1, 2} where (load == "plain") == (vec == 1);`,
			[]string{tile("1x16", 1), "family=tile,block=1x16,vec=2,load=readonly"}},
		{"parameters that come into being", `family = "planes", stages = 1, prefetch = all;`,
			[]string{"family=planes,block=1x16,vec=1,stages=1,prefetch=1",
				"family=planes,block=1x16,vec=1,stages=1,prefetch=2"}},
		{"parameters that do not exist", `family = "planes", stages = 0, prefetch = all;`,
			[]string{"family=planes,block=1x16,vec=1,stages=0"}},
		{"parameters that nobody sets", `family = "planes", stages = 1;`,
			[]string{"family=planes,block=1x16,vec=1,stages=1,prefetch=1"}},
		{"a limit", "limit block.x*block.y <= 32; block.x = all, block.y = all;",
			[]string{tile("1x16", 1), tile("1x32", 1), tile("2x16", 1)}},
		{"an option", "option widest = 32; block.x = 16:widest:*2;", []string{tile("1x16", 1), tile("1x32", 1)}},
		{"an alias", "alias WX = block.x; alias W = WX; W = 32 where WX == W;", []string{tile("1x32", 1)}},
		{"arithmetic", "vec = max(1, min(4, 2)) * 7 % 4 - -2;", []string{tile("1x16", 4)}},
		{"logic", "vec = all where not vec == 1 and (vec < 2 or vec >= 4);", []string{tile("1x16", 4)}},
		{"functions", "vec = log2(floor(4.9)) * ceil(0.1);", []string{tile("1x16", 2)}},
		{"a fraction is no value", "vec = 3/best(vec*2), block.x = 32;", []string{tile("1x16", 1)}},
		{"nothing that fits: the start itself", "vec = 1 where vec == 2;", []string{tile("1x16", 1)}},
		{"an empty file", "", []string{tile("1x16", 1)}},
		{"comments", "# all of it\nvec = 2; # two", []string{tile("1x16", 2)}},
		{"repeat as a name", "repeat? = all, vec = 2;", []string{tile("1x16", 2)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			space := specSpace()
			s, err := NewHeuristic("f", c.text, "", Problem{Space: space, Sizes: map[string]int64{"x": 64, "y": 64}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range s.Ask(100) {
				got = append(got, space.Text(p))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// course runs a file to its end on given times and returns the texts of each step.
func course(t *testing.T, space *KernelSpace, text, arg string, p Problem,
	seconds func(text string) float64) [][]string {
	t.Helper()
	p.Space = space
	s, err := NewHeuristic("f", text, arg, p)
	if err != nil {
		t.Fatal(err)
	}
	var steps [][]string
	for {
		points := s.Ask(1000)
		if len(points) == 0 {
			return steps
		}
		var step []string
		for _, p := range points {
			step = append(step, space.Text(p))
		}
		slices.Sort(step)
		steps = append(steps, step)
		for _, p := range points {
			s.Tell(Trial{Point: p, Seconds: seconds(space.Text(p))})
		}
	}
}

// sizesOf returns how many points each step has.
func sizesOf(steps [][]string) []int {
	var n []int
	for _, s := range steps {
		n = append(n, len(s))
	}
	return n
}

func TestCourses(t *testing.T) {
	space := specSpace()
	// Planes with wide vectors and loads ahead are fast.
	seconds := func(text string) float64 {
		x := 10.0
		for part, gain := range map[string]float64{"family=planes": 2, "vec=4": 1, "prefetch=2": 3, "block=4x": 1,
			"x64,": 0.5} {
			if strings.Contains(text, part) {
				x -= gain
			}
		}
		return x
	}
	for _, c := range []struct {
		name, text, arg string
		want            []int
		last            string // some point of the last step
	}{
		{"steps go on from the best", "vec = all; block.y = all;", "", []int{3, 2},
			"family=tile,block=4x16,vec=4,load=plain"},
		{"singly", "singly vec = all, block.y = all;", "", []int{3, 2}, "family=tile,block=4x16,vec=4,load=plain"},
		{"repetitions end when they bring nothing", "repeat 100 { vec = all; block.y = all; }", "", []int{3, 2, 2},
			"family=tile,block=4x16,vec=1,load=plain"},
		{"options from outside", "option n = 1; repeat n { vec = all; }", "n=0", []int{1},
			"family=tile,block=1x16,vec=1,load=plain"},
		{"each fixes what it is about", `each family { vec = all; stages? = {1}, prefetch? = all; }`, "",
			[]int{3, 3, 2}, "family=planes,block=1x16,vec=4,stages=1,prefetch=2"},
		{"the best of all goes on behind each", `each family { vec = all; } block.x = {64};`, "", []int{3, 3, 1},
			"family=planes,block=1x64,vec=4,stages=0"},
		{"the rest", `vec = all; singly rest = all;`, "", []int{3, 1, 2, 2, 1},
			"family=planes,block=4x64,vec=4,stages=1,prefetch=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := course(t, space, c.text, c.arg, Problem{}, seconds)
			if !slices.Equal(sizesOf(steps), c.want) || !slices.Contains(steps[len(steps)-1], c.last) {
				t.Errorf("%v\n%q", sizesOf(steps), steps)
			}
		})
	}
	t.Run("the most promising comes first", func(t *testing.T) {
		p := Problem{Estimate: func(p Point) (float64, bool) { return float64(5 - p[0]), true }}
		steps := course(t, space, "each family { vec = all; }", "", p, seconds)
		if !strings.HasPrefix(steps[0][0], "family=planes") {
			t.Errorf("%q", steps)
		}
	})
}

// TestSampling draws other values for other seeds.
func TestSampling(t *testing.T) {
	space := specSpace()
	seen := map[string]bool{}
	for seed := range uint64(40) {
		steps := course(t, space, "block.x = sample 2 of all, vec = 1;", "", Problem{Seed: seed},
			func(string) float64 { return 1 })
		if n := len(steps[0]); n != 2 {
			t.Fatalf("%d points", n)
		}
		seen[strings.Join(steps[0], " ")] = true
	}
	if len(seen) != 3 {
		t.Errorf("of 3 pairs %d were drawn", len(seen))
	}
}

func TestHeuristicErrors(t *testing.T) {
	for text, want := range map[string]string{
		"vec = all;\nblok.x = all;": "f:2:1: error: nothing is called blok.x|did you mean block.x?",
		"vec = 1:wide;": "f:1:9: error: nothing is called wide|there is family, block.y, " +
			"block.x, vec, load, stages, prefetch",
		"vec = 1:prefetch, prefetch = 1:vec;": "f:1:1: error: the values of vec depend on themselves: vec ← prefetch " +
			"← vec|best(vec) is its value",
		"vec = vec + 1;":   "f:1:1: error: the values of vec depend on themselves: vec ← vec",
		"vec = 4:1;":       "f:1:7: error: the range from 4 to 1 is empty",
		"vec = 1:4:*1;":    "f:1:12: error: a range that is multiplied by 1 does not grow",
		"vec = 1:4:+0;":    "f:1:12: error: a range in steps of 0 does not grow",
		"stages = 0:1:*2;": "f:1:10: error: 0 does not grow by being multiplied",
		"vec = 5:7;":       "f:1:7: error: vec has no value in the range; it has 1, 2, 4",
		"vec = 3;":         "f:1:7: error: vec has no such value; it has 1, 2, 4",
		`load = "write";`:  "f:1:8: error: load has no such value; it has plain, readonly",
		`load = 1;`: "f:1:8: error: the values of load are words|write one of plain, " +
			"readonly in quotes",
		`load = 1:2;`:                        "f:1:8: error: the values of load are words, which have no ranges",
		`vec = load;`:                        `f:1:7: error: the values of load are words|words are compared by == and !=, as in load == "plain"`,
		`vec = "two" + 1;`:                   "f:1:7: error: a word can only be compared",
		`vec = all where load == "wide";`:    "f:1:25: error: load has no such value; it has plain, readonly",
		"vec = all, vec = 1;":                "f:1:12: error: vec has values in this step already",
		`vec = sample 0 of all;`:             "f:1:14: error: 0 is no number of samples",
		`"*.z" = all;`:                       "f:1:1: error: no parameter fits the pattern|a ? behind it",
		`vec = product("*.z");`:              "f:1:15: error: no parameter fits the pattern",
		"repeat vec { vec = all; }":          "f:1:8: error: the number of repetitions must be known beforehand",
		"repeat 1.5 { vec = all; }":          "f:1:8: error: 1.5 is no number of repetitions",
		`each "*.x" { vec = all; }`:          "f:1:6: error: each takes one parameter at a time",
		"option n = 1; n = all;":             "f:1:15: error: n is an option, not a parameter",
		"NX = all;":                          "f:1:1: error: NX is a size of the grid, not a parameter",
		"option n = 1; alias n = vec;":       "f:1:21: error: n is declared twice",
		"alias a = b; alias b = a; a = all;": "f:1:11: error: nothing is called b",
		"vec all;": "f:1:5: error: all stands where = is expected " +
			"after what is to be tuned",
		"vec = ;":                           "f:1:7: error: ; stands where a value is expected",
		"vec = 1 < 2 < 3;":                  "f:1:13: error: comparisons do not chain|join two of them with and",
		"vec = (1;":                         "f:1:9: error: ; stands where ) is expected",
		"repeat 2 { vec = all;":             "f:1:10: error: the block has no end",
		"vec = cube(2);":                    "f:1:7: error: there is no function cube",
		"vec = best(1, 2);":                 "f:1:7: error: best takes one argument",
		"vec = product(vec);":               "f:1:15: error: product takes a pattern in quotes",
		`load = "plain;`:                    `f:1:8: error: the word has no end|put " after it`,
		"vec = 1 @ 2;":                      `f:1:9: error: "@" has no meaning here`,
		"vec = 1.2.3;":                      "f:1:7: error: 1.2.3 is no number",
		"}":                                 "f:1:1: error: } stands where a parameter is expected",
		"option 3 = 4;":                     "f:1:8: error: 3 stands where the option's name is expected",
		"vec = " + strings.Repeat("(", 200): "f:1:106: error: this is nested more than 100 deep",
		strings.Repeat("repeat 2 {", 200):   "f:1:1008: error: this is nested more than 100 deep",
		"vec = {1, 2;":                      "f:1:12: error: ; stands where } is expected after the values",
		"vec = sample 2 all;": "f:1:16: error: all stands where of is expected " +
			"after the number of samples",
		"limit lod == 3; vec = all;":       "f:1:7: error: nothing is called lod|did you mean load?",
		`limit lod == "plain"; vec = all;`: "f:1:7: error: nothing is called lod|did you mean load?",
		"each famly { vec = all; }\nvex = all;": "f:1:6: error: nothing is called famly|" +
			"f:2:1: error: nothing is called vex",
		"vec = ;\nblock.x = ;":             "f:1:7: error: ; stands|f:2:11: error: ; stands",
		"repeat 2 { vec = ; block.x = ) }": "f:1:18: error: ; stands|f:1:30: error: ) stands",
	} {
		_, err := NewHeuristic("f", text, "", Problem{Space: specSpace()})
		var bad *SpecError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, part := range strings.Split(want, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s\nsays:\n%v\nwant %s", text, err, part)
			}
		}
	}
}

func TestHeuristicArguments(t *testing.T) {
	for arg, want := range map[string]string{
		"m=1":     `f has no option "m"; it has n, o`,
		"n=much":  `option n of f takes a number, not "much"`,
		"n":       `option n of f takes a number, not ""`,
		"o=2,m=1": `f has no option "m"; it has n, o`,
	} {
		_, err := NewHeuristic("f", "option n = 1; option o = 2; vec = all;", arg, Problem{Space: specSpace()})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if _, err := NewHeuristic("f", "vec = all;", "n=1", Problem{Space: specSpace()}); err == nil ||
		err.Error() != `f has no option "n"; it has none at all` {
		t.Error(err)
	}
}

// TestFilesSurviveAnything feeds the reader with damaged files.
func TestFilesSurviveAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var texts []string
	for _, b := range builtins {
		text, _ := Specification(b.name)
		texts = append(texts, text)
	}
	texts = append(texts, algorithm3)
	for range 3000 {
		b := []byte(texts[rng.IntN(len(texts))])
		for range 1 + rng.IntN(4) {
			i := rng.IntN(len(b))
			switch rng.IntN(3) {
			case 0:
				b = slices.Delete(b, i, min(i+1+rng.IntN(20), len(b)))
			case 1:
				b[i] = `=;,{}()?*:"#x1`[rng.IntN(14)]
			default:
				j := rng.IntN(len(b))
				b[i], b[j] = b[j], b[i]
			}
		}
		s, err := NewHeuristic("f", string(b), "", Problem{Space: specSpace()})
		if (s == nil) == (err == nil) {
			t.Fatalf("neither a strategy nor an error, or both, for\n%s", b)
		}
	}
}

// TestGrouped holds the built-in files to what the paper says of them.
func TestGrouped(t *testing.T) {
	space := specSpace()
	count := func(name string) int {
		s, err := New(name, Problem{Space: space, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return len(asked(converse(t, s, space, 1, fates["good"], rand.New(rand.NewPCG(1, 1)), 1000)))
	}
	if a, b := count("hybrid:n=0"), count("hybrid:n=2"); a >= b {
		t.Errorf("%d points without repetition, %d with two", a, b)
	}
	if a, b, c := count("dimension"), count("hybrid:shapes=0"), count("hybrid"); a > b || b > c {
		t.Errorf("by dimension takes %d points, the paper's hybrid %d, and more shapes %d", a, b, c)
	}
	s, _ := New("expert", Problem{Space: space})
	for _, p := range asked(converse(t, s, space, 1, fates["good"], rand.New(rand.NewPCG(1, 1)), 1000)) {
		if value(space, p, "block.x") < 32 || value(space, p, "block.y") > 4 {
			t.Errorf("no expert would try %s", space.Text(p))
		}
	}
}

// TestBuiltins: every built-in file is listed by a line of its own.
func TestBuiltins(t *testing.T) {
	docs := map[string]bool{}
	for _, info := range Names() {
		if info.Doc == "" || strings.Contains(info.Doc, "\n") || docs[info.Doc] {
			t.Errorf("%s is described by %q", info.Name, info.Doc)
		}
		docs[info.Doc] = true
		if err := Check(info.Name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range Specifications() {
		text, ok := Specification(name)
		if !ok || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s has no file, or no description in it", name)
		}
		// It must not depend on names that other spaces lack.
		for _, space := range []*KernelSpace{singleSpace(), garveySpace(4), hugeSpace(), terrain()} {
			if _, err := New(name, Problem{Space: space}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, ok := Specification("random"); ok {
		t.Error("random is no file")
	}
}

// TestFileStrategies reads files by name.
func TestFileStrategies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.spec")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := Problem{Space: specSpace()}
	if _, err := New(file, p); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	write("option n = 1; vec = {n};")
	s, err := New(file+":n=4", p)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Ask(9); len(got) != 1 || value(specSpace(), got[0], "vec") != 4 {
		t.Errorf("%v", got)
	}
	if err := Check(file + ":m=4"); err == nil {
		t.Error("an option that the file does not have is taken")
	}
	write("vec = ;")
	var bad *SpecError
	if err := Check(file); !errors.As(err, &bad) {
		t.Errorf("a file that is wrong: %v", err)
	}
}

// TestConditionThatNothingMeets ends all the same, in a space of 10^9 points.
func TestConditionThatNothingMeets(t *testing.T) {
	s, err := NewHeuristic("f", `"*" = all where p10 == 3;`, "", Problem{Space: hugeSpace()})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Ask(5); len(got) != 1 { // the start
		t.Errorf("%d points", len(got))
	}
}

// A pattern fits what the regular expression with .* for each star fits.
func TestGlob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(text)
		if got := glob(pattern, text); got != want {
			t.Fatalf("glob(%q, %q) = %t, want %t", pattern, text, got, want)
		}
	})
	// Trying all places for all stars would take longer than anybody lives.
	if glob(strings.Repeat("*", 100)+"x", strings.Repeat("a", 100)) ||
		glob(strings.Repeat("a*", 100)+"x", strings.Repeat("a", 1000)) {
		t.Error("a text without x fits *x")
	}
}

// Steps without end that bring nothing new do not keep a search, and a search
// that has ended does not wait for the combinations of a step.
func TestHeuristicEnds(t *testing.T) {
	endless := strings.Repeat(`"*" = all where p10 == 3;`+"\n", 50_000)
	for _, last := range []int{0, 1, 10, 5000} { // 0: nobody ends the search
		ctx := &countdown{Context: t.Context(), last: last}
		s, err := NewHeuristic("f", endless, "", Problem{Space: hugeSpace(), Context: ctx})
		if err != nil {
			t.Fatal(err)
		}
		points := 0
		for ps := s.Ask(1); len(ps) > 0; ps = s.Ask(1) {
			points++
			s.Tell(Trial{Point: ps[0], Seconds: 1})
		}
		switch {
		case last == 0 && (ctx.asked < maxIdle || ctx.asked > maxIdle+10 || points != 1):
			t.Errorf("%d points after %d combinations and statements, want 1 after %d", points, ctx.asked, maxIdle)
		case last > 0 && (ctx.asked < last || ctx.asked > last+10 || points != 0):
			t.Errorf("%d points; the search ended at %d, the strategy at %d", points, last, ctx.asked)
		}
	}
}

// countdown is a context that ends when it is asked for the last time; 0 is never.
type countdown struct {
	context.Context
	asked, last int
}

func (c *countdown) Err() error {
	if c.asked++; c.last > 0 && c.asked >= c.last {
		return context.Canceled
	}
	return nil
}

// A long formula names the same few coordinates again and again.
func TestUnion(t *testing.T) {
	if got := union([]int{3, 1}, []int{2, 3, 1}); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("%v", got)
	}
}
