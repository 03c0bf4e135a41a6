package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// chooser takes configurations from a plan and remembers what it has used, so
// that a plan's words are never ignored in silence.
type chooser struct {
	plan  schedule.Plan
	loops []graph.Loop
	every []bool  // settings of plan.Every that some kernel fits
	used  []bool  // kernels of the plan that were found
	first []error // why a setting of plan.Every did not fit
	// family says why the family of plan.Every fits no kernel so far.
	family error
	fits   bool
	known  []schedule.Kernel
	spaces []schedule.Space // of the known kernels
}

func newChooser(p schedule.Plan, loops []graph.Loop) *chooser {
	return &chooser{
		plan:  p,
		loops: loops,
		every: make([]bool, len(p.Every.Values)),
		used:  make([]bool, len(p.Kernels)),
		first: make([]error, len(p.Every.Values)),
	}
}

// choose returns the configuration of a kernel: what the plan says of it, else
// those of the plan's general settings that fit, completed with defaults.
func (c *chooser) choose(call string, from, to int, space schedule.Space) (full, given schedule.Config, err error) {
	given, err = c.find(call, from, to, space)
	cfg := given
	if err == nil {
		cfg, err = space.Complete(given)
	}
	if err != nil {
		return cfg, given, fmt.Errorf("plan for %s[%d:%d]: %w", call, from, to, err)
	}
	c.known = append(c.known, schedule.Kernel{Call: call, From: from, To: to, Depth: 1, Config: cfg})
	c.spaces = append(c.spaces, space)
	return cfg, given, nil
}

// find returns what the plan says of a kernel.
func (c *chooser) find(call string, from, to int, space schedule.Space) (schedule.Config, error) {
	named := -1
	for i, k := range c.plan.Kernels {
		if k.Call != call || k.From != from || k.To != to {
			continue
		}
		c.used[i] = true
		if k.Depth != 1 {
			return schedule.Config{}, fmt.Errorf("a depth of %d is that of a loop, and %s is a call; %s", k.Depth, call,
				c.loopsText(k.Depth))
		}
		named = i
	}
	if named >= 0 {
		return c.plan.Kernels[named].Config, nil
	}
	var partial schedule.Config
	if space.Family(c.plan.Every.Family) != nil {
		partial.Family = c.plan.Every.Family
		c.fits = true
	} else if c.plan.Every.Family != "" && c.family == nil {
		c.family = space.Check(schedule.Config{Family: c.plan.Every.Family})
	}
	for i, s := range c.plan.Every.Values {
		with := partial.With(s.Name, s.Value)
		if _, err := space.Complete(with); err != nil {
			if c.first[i] == nil {
				c.first[i] = err
			}
			continue
		}
		c.every[i] = true
		partial = with
	}
	return partial, nil
}

const noTimeLoop = "the program has no time loop (iterate)"

// loopsText says how the loops of the program are named in plans.
func (c *chooser) loopsText(depth int) string {
	var names []string
	for _, l := range c.loops {
		if depth == 1 || !l.Iterate.Sequence {
			names = append(names, fmt.Sprintf("%s[0:%d]@%d{...}", l.Name, l.Leaves(), depth))
		}
	}
	if len(names) == 0 {
		return noTimeLoop
	}
	return "write " + strings.Join(names, " or ")
}

func (c *chooser) callNames() []string {
	var names []string
	for _, k := range c.known {
		names = append(names, k.Call)
	}
	return names
}

// check returns an error if the plan says something that no kernel heeds.
func (c *chooser) check() error {
	if c.family != nil && !c.fits {
		return fmt.Errorf("plan: family=%s fits no kernel: %w", c.plan.Every.Family, c.family)
	}
	for i, ok := range c.every {
		if !ok && c.first[i] != nil {
			return fmt.Errorf("plan: %s fits no kernel: %w", c.plan.Every.Values[i], c.first[i])
		}
	}
	for i, ok := range c.used {
		if ok {
			continue
		}
		k := c.plan.Kernels[i]
		if k.Depth > 1 && diag.Nearest(k.Call, c.callNames()) == "" {
			text := c.loopsText(k.Depth)
			if text == noTimeLoop {
				return fmt.Errorf("plan: %s@%d: %s", k.Name(), k.Depth, text)
			}
			return fmt.Errorf("plan: the program has no loop %s; %s", k.Call, text)
		}
		var have, calls []string
		for _, q := range c.known {
			have = append(have, q.Name())
			calls = append(calls, q.Call)
		}
		if near := diag.Nearest(k.Call, calls); near != "" {
			have = slices.DeleteFunc(have, func(s string) bool { return !strings.HasPrefix(s, near+"[") })
			return fmt.Errorf("plan: the program has no kernel %s; did you mean %s?",
				k.Name(), strings.Join(have, " or "))
		}
		return fmt.Errorf("plan: the program has no kernel %s; it has %s", k.Name(), strings.Join(have, ", "))
	}
	return nil
}
