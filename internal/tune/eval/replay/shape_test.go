package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// conditional returns a recording in which parameters exist beside some values of others only: the part that is
// staged, and beside a part how it is copied, but not for half precision. Another family has neither.
func conditional(t *testing.T, rng *rand.Rand) *Recording {
	t.Helper()
	var list []string
	add := func(format string, args ...any) {
		list = append(list, fmt.Sprintf(`{"configuration":{%s},"times":{"compilation":1},"invalidity":"correct",`+
			`"measurements":[{"name":"time","value":%d,"unit":"ms"}],"objectives":["time"]}`,
			fmt.Sprintf(format, args...), len(list)+1))
	}
	for _, x := range []int{32, 64, 128} {
		for _, vec := range []int{1, 2} {
			block := fmt.Sprintf(`"block":"1x1x%d","vec":%d`, x, vec)
			for _, half := range []string{"no", "yes"} {
				add(`"family":"tile",%s,"half":"%s","stages":0`, block, half)
				if half == "yes" {
					add(`"family":"tile",%s,"half":"%s","stages":1,"staging":"all"`, block, half)
					continue
				}
				for _, fetch := range []string{"bulk", "plain"} {
					add(`"family":"tile",%s,"half":"%s","stages":1,"staging":"all","copy":"%s"`, block, half, fetch)
				}
			}
			add(`"family":"planes",%s,"unroll":4`, block)
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	r, err := Read(strings.NewReader(`{"results":[`+strings.Join(list, ",")+`]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What exists beside a value of a parameter is learned from the recording, so that a strategy gets from any value to
// any other, wherever it begins: the expert tries everything that its file names. The order of a recording decides
// where that is. Once the expert never staged on a recording, or did nothing else.
func TestConditionalParameters(t *testing.T) {
	for seed := range uint64(20) {
		r := conditional(t, rand.New(rand.NewPCG(seed, 1)))
		s := NewSpace(r)
		at := func(name string) int {
			return slices.IndexFunc(s.Params(), func(p search.Param) bool { return p.Name == name })
		}
		for i := range r.Trials {
			if p := s.point(i); !slices.Equal(s.Shape(p), p) {
				t.Fatalf("%s is shaped as %v", s.Text(p), s.Shape(p))
			}
		}
		p := s.point(0)
		for _, c := range []struct {
			half, count   string // the value of stages
			staging, copy int    // as Shape finds them where they were absent
		}{
			{"no", "0", search.Absent, search.Absent},
			{"yes", "0", search.Absent, search.Absent},
			{"yes", "1", search.Free, search.Absent},
			{"no", "1", search.Free, search.Free},
		} {
			set := func(name, value string) {
				p[at(name)] = slices.IndexFunc(s.Params()[at(name)].Values, func(v schedule.Value) bool {
					return v.String() == value
				})
			}
			set("family", "tile")
			set("half", c.half)
			set("stages", c.count)
			p[at("staging")], p[at("copy")] = search.Absent, search.Absent
			q := s.Shape(p)
			if q[at("staging")] != c.staging || q[at("copy")] != c.copy || q[at("unroll")] != search.Absent {
				t.Errorf("%+v: staging %d, copy %d, unroll %d", c, q[at("staging")], q[at("copy")], q[at("unroll")])
			}
		}

		// The expert leaves what it does not name as it is at its beginning: half precision and the copy.
		run, err := Search(t.Context(), s, func(p search.Problem) (search.Strategy, error) {
			return search.New("expert", p)
		}, 1, math.Inf(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		tried := map[string]int{}
		for _, step := range run.Steps {
			tried[r.pick(step.Trial, "family", "stages")]++
		}
		if tried["tile 0"] != 6 || tried["tile 1"] != 6 || tried["planes -"] != 6 || len(run.Steps) != 18 {
			t.Errorf("from %s: %v", s.Text(s.Starts()[0]), tried)
		}
	}
}

// pick returns the values of some parameters.
func (r *Recording) pick(trial int, names ...string) string {
	var list []string
	for _, name := range names {
		value := "-"
		for i, p := range r.Params {
			if n := r.Trials[trial].Config[i]; p.Name == name && n != Missing {
				value = p.Values[n].String()
			}
		}
		list = append(list, value)
	}
	return strings.Join(list, " ")
}

// The rules of recorded spaces fit all that was recorded, and are those by which they were recorded.
func TestShapesOfRecordings(t *testing.T) {
	for name, want := range map[string]string{
		"exhaustive/dense-zyx-r1-float": "staging if stages is 1; perspective if stages is 1",
		"star7-double": "staging if stages is 1; perspective if stages is 1; " +
			"staging if stages is 1; perspective if stages is 1; copy if stages is 1",
	} {
		r, err := ReadFile("../../../../bench/recordings/"+name+".t4.json.gz", nil)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSpace(r)
		for i := range r.Trials {
			if p := s.point(i); !slices.Equal(s.Shape(p), p) {
				t.Fatalf("%s: %s is shaped as %v", name, s.Text(p), s.Shape(p))
			}
		}
		var rules []string
		for _, e := range slices.Concat(s.existences()...) {
			for _, c := range e.when {
				var values []string
				for v, in := range c.in {
					if in {
						values = append(values, s.params[c.coordinate].Values[v].String())
					}
				}
				rules = append(rules, fmt.Sprintf("%s if %s is %s", s.params[e.coordinate].Name,
					s.params[c.coordinate].Name, strings.Join(values, " or ")))
			}
		}
		if got := strings.Join(rules, "; "); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
