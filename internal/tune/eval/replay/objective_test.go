package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// cacheOf is a cache of Kernel Tuner with an objective and its values.
func cacheOf(more, objective string, values ...string) string {
	var rows []string
	for i, v := range values {
		rows = append(rows, fmt.Sprintf(`"%d": {"b": %d, %q: %s, "benchmark_time": 7}`, i, i+1, objective, v))
	}
	return fmt.Sprintf(`{"tune_params_keys": ["b"], "objective": %q, %s"cache": {%s}}`, objective, more,
		strings.Join(rows, ", "))
}

// t4Of is the same as results of T4.
func t4Of(objective string, values ...string) string {
	var rows []string
	for i, v := range values {
		rows = append(rows, fmt.Sprintf(
			`{"configuration": {"b": %d}, "measurements": [{"name": %q, "value": %s, "unit": ""}], "objectives": [%q]}`,
			i+1, objective, v, objective))
	}
	return `{"results": [` + strings.Join(rows, ", ") + `]}`
}

// The best of a rate is the highest, of a time the lowest.
func TestObjectives(t *testing.T) {
	const higher, lower = `"objective_higher_is_better": true, `, `"objective_higher_is_better": false, `
	for _, c := range []struct {
		text string
		best int // configuration; 0 if the file is refused
	}{
		{cacheOf("", "time", "4", "2", "8"), 2},
		{cacheOf("", "energy", "4", "2", "8"), 2},
		{cacheOf("", "GFLOP/s", "4", "2", "8"), 3},
		{cacheOf("", "gflops", "4", "2", "8"), 3},
		{cacheOf("", "GB/s", "4", "2", "8"), 3},
		{cacheOf("", "GFLOPS/W", "4", "2", "8"), 3},
		{cacheOf("", "fps", "4", "2", "8"), 3},
		{cacheOf("", "niceness", "4", "2", "8"), 0},
		{cacheOf(higher, "niceness", "4", "2", "8"), 3},
		{cacheOf(lower, "niceness", "4", "2", "8"), 2},
		{cacheOf(higher, "time", "4", "2", "8"), 3},
		{t4Of("time", "4", "2", "8"), 2},
		{t4Of("GFLOP/s", "4", "2", "8"), 3},
		{t4Of("niceness", "4", "2", "8"), 0},
	} {
		r, err := readText(c.text)
		if c.best == 0 {
			if err == nil || !strings.Contains(err.Error(),
				`the objective is "niceness", and nothing says whether more of it is better`) {
				t.Errorf("%s\n%v", c.text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		best := slices.MinFunc(r.Trials, func(a, b Trial) int { return cmp.Compare(a.Seconds, b.Seconds) })
		if got := r.Text(best.Config); got != fmt.Sprintf("b=%d", c.best) {
			t.Errorf("%s\nthe best is %s", c.text, got)
		}
	}
	r, err := readText(cacheOf("", "GFLOP/s", "4", "2"))
	if err != nil || r.Trials[0].Seconds != 0.25 ||
		!slices.Contains(r.Notes,
			"GFLOP/s is a rate: configurations are judged by its reciprocal, the seconds for one unit of work") {
		t.Errorf("%+v, %v", r, err)
	}
	late := `{"tune_params_keys": ["b"], "cache": {"1": {"b": 1, "time": 1}}, "objective": "GFLOP/s"}`
	if _, err := readText(late); err == nil ||
		!strings.HasSuffix(err.Error(), `"objective" stands behind the configurations, which were judged without it`) {
		t.Errorf("%v", err)
	}
}

// What no measurement gives counts as failed, costs nothing, and is spoken of.
func TestAbsurdTimesAndCosts(t *testing.T) {
	const times = "3 configurations have times that cannot have been measured (none, negative, not finite or more " +
		"than 10^7 s); they count as failed"
	for _, c := range []struct{ text, want, note string }{
		{cacheOf("", "time", "4", "0", "-2", "1e19"),
			"b=1: 0.004, 0.007\nb=2: no time, 0.007\nb=3: no time, 0.007\nb=4: no time, 0.007\n", times},
		{cacheOf("", "GFLOP/s", "4", "0", "-2", "1e-9"),
			"b=1: 0.25, 0.007\nb=2: no time, 0.007\nb=3: no time, 0.007\nb=4: no time, 0.007\n", times},
		{cacheOf("", "time", "4", "1e400", "Infinity", "NaN"),
			"b=1: 0.004, 0.007\nb=2: no time, 0.007\nb=3: no time, 0.007\nb=4: no time, 0.007\n",
			"1 configurations have times that cannot have been measured (none, negative, not finite or more than " +
				"10^7 s); they count as failed"},
		// how old caches spell a failure
		{cacheOf("", "time", "4", "1e20"), "b=1: 0.004, 0.007\nb=2: no time, 0.007\n", ""},
		{"b,time_ms,compile_ms\n1,4,1\n2,0,1\n3,-1,1\n4,nan,1\n5,,1\n",
			"b=1: 0.004, 0.001\nb=2: no time, 0.001\nb=3: no time, 0.001\nb=4: no time, 0.001\nb=5: no time, 0.001\n",
			times},
		{"b,time_ms,compile_ms\n1,4,1\n2,3,1e300\n3,2,inf\n4,1,nan\n",
			"b=1: 0.004, 0.001\nb=2: absurd cost, 0\nb=3: absurd cost, 0\nb=4: absurd cost, 0\n",
			"3 configurations have costs that cannot have been measured (not finite or more than 10^7 s); they count " +
				"as failed, and as if that had cost nothing"},
		{"b,time_ms,framework_ms\n1,4,1\n2,3,-1e-3\n", "b=1: 0.004, 0.001\nb=2: 0.003, 0\n",
			"1 configurations have negative costs, which count as nothing"},
	} {
		r, err := readText(c.text)
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		r.Notes = slices.DeleteFunc(r.Notes, func(n string) bool { return strings.Contains(n, "is a rate") })
		want := c.want
		if c.note != "" {
			want += c.note + "\n"
		}
		if got := summary(r); got != want {
			t.Errorf("%s\ngot\n%swant\n%s", c.text, got, want)
		}
	}
}
