package replay

import (
	"fmt"
	"slices"
	"strings"
)

// objective is what a recording was tuned for.
type objective struct {
	name   string
	higher *bool // whether more of it is better, if the file says so
}

// costs are objectives of which less is better, rates those of which more is, in
// lower case. Names that end in what a rate is per are rates, too.
var (
	costs = []string{"time", "runtime", "latency", "energy", "power", "edp", "cost"}
	rates = []string{"fps", "ops", "flops", "gflops", "tflops", "throughput", "bandwidth"}
	per   = []string{"/s", "/w", "/j", "_per_second"}
)

// rate reports whether more of the objective is better. A search that takes a rate
// for a time looks for the slowest configuration, so that what nothing is known
// of is refused.
func (o objective) rate() (bool, error) {
	name := strings.ToLower(o.name)
	switch {
	case o.higher != nil:
		return *o.higher, nil
	case slices.Contains(costs, name), strings.HasSuffix(name, "_time"), strings.HasSuffix(name, "_energy"):
		return false, nil
	case slices.Contains(rates, name), slices.ContainsFunc(per,
		func(s string) bool { return strings.HasSuffix(name, s) }):
		return true, nil
	}
	return false, fmt.Errorf(
		"the objective is %q, and nothing says whether more of it is better: write \"objective_higher_is_better\" "+
			"before \"cache\", or record \"time\"", o.name)
}

// named reads the objective's name.
func (r *reader) named() error {
	if err := r.early("objective"); err != nil {
		return err
	}
	return r.value(&r.objective.name)
}

// directed reads whether more of it is better; null leaves it to the name.
func (r *reader) directed() error {
	if err := r.early("objective_higher_is_better"); err != nil {
		return err
	}
	return r.value(&r.objective.higher)
}

// early refuses what would have had to be known before.
func (r *reader) early(name string) error {
	if r.found {
		return fmt.Errorf("%q stands behind the configurations, which were judged without it", name)
	}
	return nil
}

// reciprocal notes that configurations are judged by the reciprocal of a rate:
// the seconds for as much as is done in one.
func (c *collector) reciprocal(name string) {
	text := fmt.Sprintf("%s is a rate: configurations are judged by its reciprocal, the seconds for one unit of work",
		name)
	if !slices.Contains(c.rec.Notes, text) {
		c.note("%s", text)
	}
}
