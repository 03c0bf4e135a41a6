package contest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// A recording is replayed with all of its configurations and with those that are promising, until searches have what
// counts as the best.
func TestClasses(t *testing.T) {
	x := small(t)
	folder := t.TempDir()
	s := newScripted(t, x)
	o := tunerOptions(t, s, x, folder)
	recordAll(t, o)
	gpu, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	c := ClassesOptions{
		Folder: folder, Subjects: []*Subject{x}, Machine: gpu, Seeds: 4, Commit: "abc", Log: io.Discard,
	}
	rows, err := Classes(t.Context(), c)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	r := rows[0]
	if r.Class != "bandwidth-bound" || r.Unroll != 8 || r.Recorded != 40 || r.Promising != 40 || r.OfBest != 1 ||
		r.Commit != "abc" || len(r.Searches) != 3 || r.Searches[1] == r.Searches[0] || !r.Searches[2].Promising {
		t.Errorf("%+v", r)
	}
	for _, s := range r.Searches {
		if s.Reached != 1 || s.Final < near || s.Trials < 1 || s.Trials > 40 || s.Seconds <= 0 {
			t.Errorf("%+v", s)
		}
	}
	// With little arithmetic a second the program is compute-bound, and vectors of 8 are not promising.
	weak := *gpu
	weak.Peak.F64, weak.Peak.F32 = 10, 10
	c.Machine = &weak
	if rows, err = Classes(t.Context(), c); err != nil || rows[0].Class != "compute-bound" || rows[0].Promising != 30 {
		t.Errorf("%+v: %v", rows, err)
	}
	var text bytes.Buffer
	rows[0].Searches[0].Reached = 0
	WriteClasses(&text, rows)
	want := "| star7 | double | compute-bound | 30 of 40 | 1.000 | never (1.000) |"
	if !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in\n%s", want, text.String())
	}
	c.Folder = t.TempDir()
	if _, err := Classes(t.Context(), c); err == nil || !strings.Contains(err.Error(), "nothing is recorded") {
		t.Errorf("%v", err)
	}
}
