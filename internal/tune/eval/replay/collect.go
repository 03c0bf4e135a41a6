package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// collector puts a recording together from configurations in any order.
type collector struct {
	definition *Definition
	rec        Recording
	numbers    []map[string]uint16 // by parameter, the numbers of values by their text
	byName     map[string]int
	// Configurations with what no measurement gives.
	absurdTimes, absurdCosts, below int
}

func newCollector(d *Definition) *collector {
	return &collector{definition: d, byName: map[string]int{}}
}

// param adds a parameter, with values in an order that is to be kept.
// Configurations that are there already do not have it.
func (c *collector) param(name string, values ...Value) error {
	if _, ok := c.byName[name]; ok {
		return fmt.Errorf("two parameters are called %q", name)
	}
	if len(c.rec.Params) == maxParams {
		return fmt.Errorf("more than %d parameters", maxParams)
	}
	c.byName[name] = len(c.rec.Params)
	c.rec.Params = append(c.rec.Params, Param{Name: name, Default: -1})
	c.numbers = append(c.numbers, map[string]uint16{})
	for i := range c.rec.Trials {
		c.rec.Trials[i].Config = append(c.rec.Trials[i].Config, Missing)
	}
	for _, v := range values {
		if _, err := c.value(len(c.rec.Params)-1, v); err != nil {
			return err
		}
	}
	return nil
}

// value returns the number of a parameter's value; there is none if v is the
// zero Value.
func (c *collector) value(param int, v Value) (uint16, error) {
	if v.kind == nothing {
		return Missing, nil
	}
	id := v.id()
	n, ok := c.numbers[param][id]
	if ok {
		return n, nil
	}
	p := &c.rec.Params[param]
	if len(p.Values) == maxValues {
		return 0, fmt.Errorf("parameter %s has more than %d values", p.Name, maxValues)
	}
	n = uint16(len(p.Values))
	p.Values = append(p.Values, v)
	c.numbers[param][id] = n
	return n, nil
}

// add takes a configuration, given by its values in the order of parameters.
func (c *collector) add(values []Value, t Trial) error {
	if len(c.rec.Trials) == maxTrials {
		return fmt.Errorf("more than %d configurations", maxTrials)
	}
	c.repair(&t)
	t.Config = make([]uint16, len(values))
	for i, v := range values {
		n, err := c.value(i, v)
		if err != nil {
			return err
		}
		t.Config[i] = n
	}
	c.rec.Trials = append(c.rec.Trials, t)
	return nil
}

func (c *collector) note(format string, args ...any) {
	c.rec.Notes = append(c.rec.Notes, fmt.Sprintf(format, args...))
}

// recording returns what was collected.
func (c *collector) recording() (*Recording, error) {
	r := &c.rec
	if len(r.Trials) == 0 {
		return nil, errors.New("no configuration is recorded")
	}
	c.noteRepairs()
	if err := c.respell(); err != nil {
		return nil, err
	}
	c.unite()
	c.drop()
	c.sort()
	if c.definition != nil {
		if err := c.definition.apply(r); err != nil {
			return nil, err
		}
	}
	if r.Valid() == 0 {
		return nil, fmt.Errorf("none of the %d configurations is valid: %s", len(r.Trials), failures(r))
	}
	return r, r.Verify()
}

// respell brings what Gridloom recorded in former spellings into those of today.
// Recordings of other programs have no families, and keep their words.
func (c *collector) respell() error {
	if _, ok := c.byName[schedule.FamilyName]; !ok {
		return nil
	}
	was := c.rec.Params
	to := make([]int, len(was)) // where the values of a parameter go
	numbers := make([][]uint16, len(was))
	c.rec.Params, c.numbers, c.byName = nil, nil, map[string]int{}
	for i, p := range was {
		name, _ := schedule.Respell(p.Name, "")
		at, ok := c.byName[name]
		if !ok {
			at = len(c.rec.Params)
			c.byName[name] = at
			c.rec.Params = append(c.rec.Params, Param{Name: name, Default: -1})
			c.numbers = append(c.numbers, map[string]uint16{})
		}
		to[i] = at
		for j, v := range p.Values {
			if _, now := schedule.Respell(p.Name, v.String()); now != v.String() {
				v = Text(now)
			}
			n, err := c.value(at, v)
			if err != nil {
				return err
			}
			numbers[i] = append(numbers[i], n)
			if j == p.Default {
				c.rec.Params[at].Default = int(n)
			}
		}
	}
	for i := range c.rec.Trials {
		t := &c.rec.Trials[i]
		config := slices.Repeat([]uint16{Missing}, len(c.rec.Params))
		for j, v := range t.Config {
			if v != Missing {
				config[to[j]] = numbers[j][v]
			}
		}
		t.Config = config
	}
	return nil
}

// unite keeps the first of equal configurations.
func (c *collector) unite() {
	seen := make(map[string]struct{}, len(c.rec.Trials))
	before := len(c.rec.Trials)
	c.rec.Trials = slices.DeleteFunc(c.rec.Trials, func(t Trial) bool {
		k := key(t.Config)
		_, again := seen[k]
		seen[k] = struct{}{}
		return again
	})
	if again := before - len(c.rec.Trials); again > 0 {
		c.note("%d configurations are recorded again; what came first counts", again)
	}
}

// drop takes away values that no configuration has.
func (c *collector) drop() {
	for i := range c.rec.Params {
		p := &c.rec.Params[i]
		used := make([]bool, len(p.Values))
		for j := range c.rec.Trials {
			if v := c.rec.Trials[j].Config[i]; v != Missing {
				used[v] = true
			}
		}
		to := make([]uint16, len(p.Values))
		var left []Value
		for j, v := range p.Values {
			to[j] = uint16(len(left))
			if used[j] {
				left = append(left, v)
			}
		}
		p.Values = left
		c.renumber(i, to)
	}
}

// sort puts values into the order of numbers.
func (c *collector) sort() {
	for i := range c.rec.Params {
		p := &c.rec.Params[i]
		at := make([]int, len(p.Values))
		for j := range at {
			at[j] = j
		}
		slices.SortStableFunc(at, func(a, b int) int { return order(p.Values[a], p.Values[b]) })
		sorted := make([]Value, len(at))
		to := make([]uint16, len(at))
		for j, from := range at {
			sorted[j] = p.Values[from]
			to[from] = uint16(j)
		}
		p.Values = sorted
		c.renumber(i, to)
	}
}

func (c *collector) renumber(param int, to []uint16) {
	for j := range c.rec.Trials {
		config := c.rec.Trials[j].Config
		if config[param] != Missing {
			config[param] = to[config[param]]
		}
	}
}

// failures counts what kept configurations from having a time.
func failures(r *Recording) string {
	count := map[string]int{}
	var kinds []string
	for i := range r.Trials {
		if why := r.Trials[i].Failure; why != "" {
			if count[why] == 0 {
				kinds = append(kinds, why)
			}
			count[why]++
		}
	}
	slices.Sort(kinds)
	text := ""
	for i, why := range kinds[:min(len(kinds), 5)] {
		if i > 0 {
			text += ", "
		}
		text += strconv.Itoa(count[why]) + " " + why
	}
	return text
}

// The files are in milliseconds.
const second = 1e3

// seconds returns what a field says in seconds, 0 if it says nothing.
func seconds(ms *float64) float64 {
	if ms == nil {
		return 0
	}
	return *ms / second
}

// longest is the longest time or cost of a configuration, in seconds, that can
// have been measured: some four months.
const longest = 1e7

// repair marks trials with impossible times or costs as failed, since budgets and best times are computed from them.
// A negative cost is the rounding of a difference, and counts as 0.
func (c *collector) repair(t *Trial) {
	below, absurd := false, false
	for _, x := range []*float64{&t.Cost.Compile, &t.Cost.Runs, &t.Cost.Framework, &t.Cost.Search, &t.Cost.Validation} {
		if *x >= 0 && *x <= longest {
			continue
		}
		below, absurd = below || *x < 0, absurd || !(*x < 0)
		*x = 0
	}
	if below {
		c.below++
	}
	if absurd {
		c.absurdCosts++
		t.Failure = cmp.Or(t.Failure, "absurd cost")
	}
	if t.Failure == "" && !(t.Seconds > 0 && t.Seconds <= longest) {
		c.absurdTimes++
		t.Failure = "no time"
	}
	if t.Failure != "" {
		t.Seconds = 0
	}
}

// noteRepairs notes what was repaired.
func (c *collector) noteRepairs() {
	for _, n := range []struct {
		times int
		text  string
	}{
		{c.absurdTimes,
			"have times that cannot have been measured (none, negative, not finite or more than 10^7 s); they count as failed"},
		{c.absurdCosts,
			"have costs that cannot have been measured (not finite or more than 10^7 s); they count as failed, and " +
				"as if that had cost nothing"},
		{c.below, "have negative costs, which count as nothing"},
	} {
		if n.times > 0 {
			c.note("%d configurations %s", n.times, n.text)
		}
	}
}

// sum adds up single runs.
func sum(ms []*float64) float64 {
	total := 0.0
	for _, t := range ms {
		total += seconds(t)
	}
	return total
}

// notTimed is a time that old caches of Kernel Tuner have for what failed.
const notTimed = 1e20
