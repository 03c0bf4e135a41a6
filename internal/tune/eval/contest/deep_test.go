package contest

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

// What tune finds for the rows of a list is timed in turn with the list's plans, and kept; rows that are there are not
// measured again, and a row that fails does not keep the others from being measured.
func TestDeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep.json")
	list := bench.Goals([]bench.SuiteRow{
		{Case: "star7", DType: "double", Grid: "3x9x9", Steps: 9, Must: 1, Plans: []string{"body[0:2]@2{family=none}"}},
		{Case: "star7", DType: "float", Grid: "9x8x31", Steps: 9, Must: 1, Plans: []string{
			"body[0:2]@2{family=wavefront}", "body[0:2]@3{family=wavefront}",
		}},
		{Case: "star7", DType: "float", Grid: "9x8x31", Steps: 8, Must: 1, Plans: []string{"the same again"}},
		{Case: "star5", DType: "float", Grid: "9x31", Steps: 9, Plans: []string{"nothing must be reached"}},
	})
	if len(list) != 2 {
		t.Fatalf("%v", list)
	}
	var log strings.Builder
	o := DeepOptions{
		Search: Search{Trials: 2, Open: OpenDevice("cpu", 0), Commit: "c", Log: &log}, List: list,
		Timing: bench.TemporalOptions{Device: "cpu", Least: time.Millisecond, Log: io.Discard},
		Each:   func(r DeepRow) error { return MergeDeep(path, r) },
	}
	rows, err := Deep(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "star7 double 3x9x9: none of the plans can be run") {
		t.Error(err)
	}
	if len(rows) != 1 {
		t.Fatalf("%v\n%s", rows, log.String())
	}
	r := rows[0]
	if r.Key() != "star7 float none 9x8x31 9 "+r.Device || r.Plan == "" || r.Trials < 1 || r.Pairs < 9 ||
		r.Differ != 0 || !strings.Contains(r.BestPlan, "wavefront") {
		t.Errorf("%+v", r)
	}
	if !(r.Rate > 0 && r.Best > 0 && r.ShareLow <= r.Share && r.Share <= r.ShareHigh) {
		t.Errorf("%+v", r)
	}
	if o.Have, err = ReadDeep(path); err != nil || len(o.Have) != 1 || o.Have[0] != r {
		t.Fatalf("%+v, %v", o.Have, err)
	}
	o.List = o.List[1:]
	if rows, err = Deep(t.Context(), o); err != nil || len(rows) != 0 ||
		!strings.Contains(log.String(), "star7 float 9x8x31: this commit has measured it") {
		t.Errorf("%v, %v\n%s", rows, err, log.String())
	}
	r.Rate, r.Depth, r.Best, r.Share, r.ShareLow, r.ShareHigh, r.Differ = 1234, 4, 1300, 0.9492, 0.94, 0.96, 3
	var text strings.Builder
	WriteDeep(&text, []DeepRow{r})
	WriteShortDeep(&text, []DeepRow{r})
	for _, want := range []string{
		"| star7 | float | 9x8x31 | 1234 | 4 | 1300 | 0.949 | 0.940 to 0.960 |",
		"short: star7 float 9x8x31: 0.949 of the best plan known, and not 0.95", "3 cells differ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
}
