package replay

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
)

// quoted writes a value as JSON does.
func quoted(value string) string {
	if isWord(value) {
		return `"` + value + `"`
	}
	return value
}

// A recording in every former spelling, as T4 or as a table, is that of today; files may
// mix both. Recordings of other programs keep their words. The family that is recorded need not be one of today.
func TestFormerSpellings(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		// Three configurations, of which the second may be spelled in another way.
		write := func(first, second string, family bool) (t4, table string) {
			one, two := strings.Split(first, "="), strings.Split(second, "=")
			head, columns, cell := `"family":"stream",`, "family,", "stream,"
			if !family {
				head, columns, cell = "", "", ""
			}
			t4, table = `{"results":[`, columns+"vec,"+one[0]+",time_ms\n"
			for i, s := range [][]string{one, two, {one[0], "7"}} {
				t4 += fmt.Sprintf(`{"configuration":{%s"vec":%d,"%s":%s},"times":{"compilation":1},"invalidity":"correct",`+
					`"measurements":[{"name":"time","value":%d,"unit":"ms"}],"objectives":["time"]},`, head, i, s[0], quoted(s[1]), i+1)
				table += fmt.Sprintf("%s%d,%s,%d\n", cell, i, s[1], i+1)
			}
			return strings.TrimSuffix(t4, ",") + "]}", table
		}
		read := func(text string) *Recording {
			t.Helper()
			r, err := Read(strings.NewReader(text), nil)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return r
		}
		t4, table := write(x.Now, x.Now, true)
		former, formerTable := write(x.Former, x.Former, true)
		mixed, _ := write(x.Now, x.Former, true)
		for _, c := range []struct{ text, want string }{{former, t4}, {mixed, t4}, {formerTable, table}} {
			got, want := read(c.text), read(c.want)
			if !reflect.DeepEqual(got.Params, want.Params) || !reflect.DeepEqual(got.Trials, want.Trials) {
				t.Errorf("%s is read as %+v, want %+v", c.text, got, want)
			}
			if text := got.Text(got.Trials[0].Config); text != "family=stream,vec=0,"+x.Now {
				t.Errorf("%s is recorded as %s", x.Former, text)
			}
		}
		others, _ := write(x.Former, x.Former, false)
		if r := read(others); r.Text(r.Trials[0].Config) != "vec=0,"+x.Former {
			t.Errorf("%s of another program is %s", x.Former, r.Text(r.Trials[0].Config))
		}
	}
}

// What was recorded on an H200 in former spellings has the parameters of today, also that of the family "stream", which
// is none any more.
func TestFormerRecordings(t *testing.T) {
	files, err := filepath.Glob("../../../../bench/recordings/*.t4.json.gz")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		r, err := ReadFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Params[1:] {
			if role, _ := r.meaning(p.Name); role == schedule.NoRole {
				t.Errorf("%s: nothing is known of %s", file, p.Name)
			}
			for _, x := range scheduletest.Spellings() {
				for _, v := range p.Values {
					if p.Name == x.Name && x.Name != x.Parameter || p.Name+"="+v.String() == x.Former {
						t.Errorf("%s: %s=%v is a former spelling", file, p.Name, v)
					}
				}
			}
		}
	}
}
