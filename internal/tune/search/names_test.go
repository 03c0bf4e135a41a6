package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
)

// Specification files and hierarchies that name parameters and values in a former spelling
// ask for what those in that of today ask for.
func TestFormerSpellings(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		value, err := schedule.ParseValue(x.NowValue)
		if err != nil {
			t.Fatal(err)
		}
		otherwise := schedule.Int(7)
		if !value.IsNumber() {
			otherwise = schedule.Word("otherwise")
		}
		space := Of(schedule.Space{Families: []schedule.Family{{Name: "tile", Params: []schedule.Param{
			{Name: "block", Values: schedule.Numbers(32, 64), Default: schedule.Int(32)},
			{Name: x.Parameter, Values: []schedule.Value{otherwise, value}, Default: otherwise},
			{Name: "vec", Values: schedule.Numbers(1, 2), Default: schedule.Int(1)},
		}}}})
		quoted := func(text string) string {
			if value.IsNumber() {
				return text
			}
			return `"` + text + `"`
		}
		asked := func(strategy Strategy, err error) string {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", x.Former, err)
			}
			var list []string
			for n := range 20 {
				points := strategy.Ask(1)
				if len(points) == 0 {
					break
				}
				c, err := space.Config(points[0])
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, c.String())
				strategy.Tell(Trial{Point: points[0], Seconds: float64(20 - n)})
			}
			return strings.Join(list, "\n")
		}
		for _, form := range []string{
			"NAME = VALUE, block = all;", "NAME = all; vec = all where NAME == VALUE;",
			`"NAME*" = {VALUE}; vec = all;`, "singly rest = all;\nNAME? = VALUE;",
			"alias other = NAME;\nother = {VALUE}, vec = all where VALUE == other;",
		} {
			spec := func(name, value string) string {
				text := strings.NewReplacer("NAME", name, "VALUE", quoted(value)).Replace(form)
				return asked(NewHeuristic("f", text, "", Problem{Space: space}))
			}
			got, want := spec(x.Name, x.FormerValue), spec(x.Parameter, x.NowValue)
			if got != want || !strings.Contains(got, x.Now) {
				t.Errorf("%s, %s asks for\n%s\nwant\n%s", x.Former, form, got, want)
			}
		}
		levels := func(name string) string {
			list, err := parseHierarchy(fmt.Sprintf("block > %s > *", name), space.Params())
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(list)
		}
		if got, want := levels(x.Name), levels(x.Parameter); got != want {
			t.Errorf("%s: the levels are %s, want %s", x.Name, got, want)
		}
	}
}

// A space of another program may have a parameter that is called as one of Gridloom's was.
func TestNamesOfToday(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		params := []Param{{Name: x.Parameter, Of: x.Parameter}, {Name: x.Name, Of: x.Name}}
		want := 1
		if x.Name == x.Parameter {
			want = 0
		}
		if at := named(params, x.Name); at != want {
			t.Errorf("%s is parameter %d", x.Name, at)
		}
	}
	if named([]Param{{Name: "block.x"}}, "x") >= 0 {
		t.Error("an axis is a parameter")
	}
	names := []string{"cse", "vec", "shuffle", "prefetch"}
	slices.SortFunc(names, byFirstName) // ahead, share, vec, x
	if got := strings.Join(names, " "); got != "prefetch cse vec shuffle" {
		t.Errorf("names are in the order %s", got)
	}
}
