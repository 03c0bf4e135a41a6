package search

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// documented is a space with the parameters of the examples in docs/search.md.
func documented() *KernelSpace {
	s := twoFamilies()
	repeat := schedule.Param{Name: "repeat", Values: []schedule.Value{schedule.Int(1, 1), schedule.Int(1, 2),
		schedule.Int(2, 1)}, Default: schedule.Int(1, 1)}
	for i := range s.Families {
		s.Families[i].Params = append(s.Families[i].Params, repeat)
	}
	return Of(withRoles(s))
}

// TestDocuments runs every specification of docs/search.md and compares the
// complaint that it shows.
func TestDocuments(t *testing.T) {
	text, err := os.ReadFile("../../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{"x": 64, "y": 64, "z": 64}
	n := 0
	for i, part := range strings.Split(string(text), "\n```") {
		kind, body, _ := strings.Cut(part, "\n")
		if i%2 == 0 {
			continue
		}
		var space *KernelSpace
		switch kind {
		case "spec":
			space = documented()
		case "spec garvey":
			space = garveySpace(16)
			if body != strings.TrimSuffix(algorithm3, "\n") {
				t.Errorf("this is not algorithm 3:\n%s", body)
			}
		default:
			continue
		}
		n++
		s, err := NewHeuristic("docs", body, "", Problem{Space: space, Sizes: sizes})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if log := converse(t, s, space, 1, fates["good"], rand.New(rand.NewPCG(1, 1)), 100); len(asked(log)) < 2 {
			t.Errorf("this tries next to nothing:\n%s", body)
		}
	}
	if n < 7 {
		t.Errorf("only %d specifications were found", n)
	}
	_, shown, _ := strings.Cut(string(text), "```\nmine.spec:")
	shown, _, _ = strings.Cut(shown, "\n```")
	_, err = NewHeuristic("mine.spec", "vec = 8:1;", "", Problem{Space: documented()})
	if err == nil || err.Error() != "mine.spec:"+shown {
		t.Errorf("docs show\n%s\nfor\n%v", shown, err)
	}
	for _, info := range Names() {
		if !strings.Contains(string(text), "`"+info.Name) {
			t.Errorf("docs/search.md does not name %s", info.Name)
		}
	}
	for _, v := range []string{"4", "{1, 2, 4}", "1:8", "16:256:+16", "1:NX:*2", "all", "sample 3 of 1:NX:*2"} {
		if !strings.Contains(string(text), "| `"+v+"` |") {
			t.Errorf("docs/search.md does not show the values %s", v)
		}
		if _, err := NewHeuristic("docs", "block.x = "+v, "", Problem{Space: documented(), Sizes: sizes}); err != nil &&
			!strings.Contains(err.Error(), "no value in the range") && !strings.Contains(err.Error(), "no such value") {
			t.Error(err)
		}
	}
	if !strings.Contains(string(text), "hierarchical:family block vec > stages chunk > *'") {
		t.Error("docs/search.md has no hierarchy")
	}
}
