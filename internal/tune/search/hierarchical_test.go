package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// cappedSpace is a kernel whose threads need 8 registers a cell.
func cappedSpace() *KernelSpace {
	param := func(name string, values ...int64) schedule.Param {
		return schedule.Param{Name: name, Values: numbers(values...), Default: schedule.Int(values[0])}
	}
	return Of(withRoles(schedule.Space{Families: []schedule.Family{{Name: "tile", Params: []schedule.Param{
		param("block", 32, 64, 128), param("vec", 1, 2, 4), param("rows", 1, 2, 4, 8), param("registers", 0, 32, 48, 64,
			128, 168, 255),
		{Name: "load", Values: schedule.Words("plain", "readonly"), Default: schedule.Word("plain")},
	}}}}))
}

// capped is what such a kernel does: it spills where it needs more than its cap.
func capped(space *KernelSpace, p Point) Trial {
	cells := value(space, p, "vec") * value(space, p, "rows")
	t := Trial{Point: p, Seconds: 10 / float64(cells), Registers: int(8 * cells)}
	if limit := value(space, p, "registers"); limit > 0 && int64(t.Registers) > limit {
		t.Spills = t.Registers - int(limit)
		t.Seconds += 100
	}
	if strings.Contains(space.Text(p), "load=readonly") {
		t.Seconds /= 2
	}
	return t
}

// run asks a strategy for one point after the other.
func run(s Strategy, most int, try func(Point) Trial) []Trial {
	var list []Trial
	for len(list) < most {
		points := s.Ask(1)
		if len(points) == 0 {
			break
		}
		list = append(list, try(points[0]))
		s.Tell(list[len(list)-1])
	}
	return list
}

func TestCapsRiseWithSpills(t *testing.T) {
	space := cappedSpace()
	s, err := New("hierarchical:block vec rows > load", Problem{Space: space, Budget: 100})
	if err != nil {
		t.Fatal(err)
	}
	trials := run(s, 1000, func(p Point) Trial { return capped(space, p) })
	lastCap, lastCells := int64(0), int64(0)
	var caps []int64
	first := slices.IndexFunc(trials, func(t Trial) bool { return strings.Contains(space.Text(t.Point), "readonly") })
	if first < 0 {
		t.Fatal("there is no second level")
	}
	for i, trial := range trials[:first] {
		limit := value(space, trial.Point, "registers")
		cells := value(space, trial.Point, "vec") * value(space, trial.Point, "rows")
		if limit < lastCap {
			t.Errorf("trial %d: the cap falls from %d to %d", i, lastCap, limit)
		}
		if cells < lastCells {
			t.Errorf("trial %d: %d cells come after %d", i, cells, lastCells)
		}
		if trial.Spills > 0 && limit < 255 {
			// The very next trial is the same point with the next cap.
			next := trials[i+1].Point
			if value(space, next, "registers") <= limit || value(space, next, "vec") != value(space, trial.Point,
				"vec") || value(space, next, "block") != value(space, trial.Point, "block") {
				t.Errorf("trial %d spills, and then comes %s", i, space.Text(next))
			}
		}
		if !slices.Contains(caps, limit) {
			caps = append(caps, limit)
		}
		lastCap, lastCells = limit, cells
	}
	if !slices.Equal(caps, []int64{32, 64, 128, 255}) {
		t.Errorf("the caps were %v", caps)
	}
	// The survivors have the most cells; each is tried with the other load, and keeps its cap.
	for _, trial := range trials[first:] {
		if cells := value(space, trial.Point, "vec") * value(space, trial.Point, "rows"); cells < 16 ||
			trial.Spills > 0 {
			t.Errorf("%s is no survivor, or spills", space.Text(trial.Point))
		}
	}
	if n := len(trials) - first; n != keptPoints {
		t.Errorf("%d points on the second level", n)
	}
}

func TestHierarchies(t *testing.T) {
	space := cappedSpace()
	for arg, want := range map[string]string{
		"block > vec > rows": "", "": "", "block vec > *": "", "bl* > registers": "",
		"block > width": "the strategy hierarchical: no parameter is called width",
		"block > > vec": `the strategy hierarchical: a level of "block > > vec" names no parameter`,
	} {
		_, err := New("hierarchical:"+arg, Problem{Space: space})
		if got := text(err); got != want {
			t.Errorf("%q: %s", arg, got)
		}
	}
	// Where a level names the caps, they are tuned like all else.
	s, _ := New("hierarchical:registers", Problem{Space: space})
	if trials := run(s, 100, func(p Point) Trial { return capped(space, p) }); len(trials) != 7 {
		t.Errorf("%d caps", len(trials))
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
