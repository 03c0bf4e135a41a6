package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Plan says how a whole program is carried out: its kernels in order.
//
// Example texts:
//
//	heat[0:1]@1{family=loops,block=0x64x0,threads=2};norm[0:1]@1{family=loops,threads=2}
//	heat[0:1]@1{family=tile,block=1x256};body[0:2]@8{family=pipe,block=4x32};body[0:2]@2{family=pipe,block=4x32}
//	flux[0:1]@1{family=tile};sequence[0:2,4]@1{family=planes,block=4x32}
//	threads=2
type Plan struct {
	// Every holds settings for all kernels that they fit, before those that
	// the kernels have of their own.
	Every   Config
	Kernels []Kernel
}

// Kernel is one kernel of a plan.
//
// Example text:
//
//	heat[0:1]@1{family=loops,block=0x64x0,threads=2}
type Kernel struct {
	Call     string
	From, To int // the statements Body[From:To] of the call
	// Gaps are those from From to To that it does not have, ascending; of calls there are none.
	Gaps   []int
	Depth  int // the number of time steps that are fused
	Config Config
}

// Name is the place of the kernel in the program, such as heat[0:1], or sequence[0:2,4].
func (k Kernel) Name() string {
	return fmt.Sprintf("%s[%s]", k.Call, setText(k.From, k.To, k.Gaps))
}

// In returns the kernel with another configuration.
func (k Kernel) In(c Config) Kernel {
	k.Config = c
	return k
}

// ID tells the kernels of a plan apart, which may have several iterations of one loop: it is the name, and for
// those the depth, as in body[0:2]@4.
func (k Kernel) ID() string {
	if k.Depth <= 1 {
		return k.Name()
	}
	return fmt.Sprintf("%s@%d", k.Name(), k.Depth)
}

// With returns the plan with a kernel in place of the one of its ID.
func (p Plan) With(k Kernel) Plan {
	p.Kernels = slices.Clone(p.Kernels)
	for i := range p.Kernels {
		if p.Kernels[i].ID() == k.ID() {
			p.Kernels[i] = k
		}
	}
	return p
}

// ParsePlan reads the text of a plan: kernels that are separated by
// semicolons, after or instead of a bare configuration that is meant for every
// kernel that it fits.
func ParsePlan(text string) (Plan, error) {
	var p Plan
	if strings.TrimSpace(text) == "" {
		return p, nil
	}
	for i, part := range strings.Split(text, ";") {
		part = strings.TrimSpace(part)
		if i == 0 && !strings.ContainsAny(part, "[{") {
			c, err := ParseConfig(part)
			if err != nil {
				return Plan{}, err
			}
			p.Every = c
			continue
		}
		k, err := ParseKernel(part)
		if err != nil {
			return Plan{}, err
		}
		if slices.ContainsFunc(p.Kernels, func(other Kernel) bool { return other.ID() == k.ID() }) {
			return Plan{}, fmt.Errorf("%s stands twice in the plan: name each kernel once, with all its settings",
				k.ID())
		}
		p.Kernels = append(p.Kernels, k)
	}
	return p, nil
}

// String returns the text that ParsePlan reads.
func (p Plan) String() string {
	var parts []string
	if every := p.Every.String(); every != "" {
		parts = append(parts, every)
	}
	for _, k := range p.Kernels {
		parts = append(parts, k.String())
	}
	return strings.Join(parts, ";")
}

// ParseKernel reads the text of one kernel of a plan.
func ParseKernel(text string) (Kernel, error) {
	fail := func() (Kernel, error) {
		return Kernel{}, fmt.Errorf("%q is no kernel of a plan: write call[from:to]@depth{name=value,...}", text)
	}
	head, settings, found := strings.Cut(strings.TrimSpace(text), "{")
	settings, closed := strings.CutSuffix(settings, "}")
	call, rest, found2 := strings.Cut(head, "[")
	set, depth, found3 := strings.Cut(rest, "]@")
	if !found || !closed || !found2 || !found3 || !isName(call) {
		return fail()
	}
	k := Kernel{Call: call}
	ok := false
	if k.Depth, ok = parseNumber(depth); !ok {
		return fail()
	}
	switch err := k.parseSet(set); {
	case errors.Is(err, errNoSet):
		return fail()
	case err != nil:
		return Kernel{}, fmt.Errorf("%s[%s] %w", call, set, err)
	case k.Depth < 1:
		return Kernel{}, fmt.Errorf("%s: a depth of %d time steps: it is at least 1", call, k.Depth)
	}
	var err error
	if k.Config, err = ParseConfig(settings); err != nil {
		return Kernel{}, fmt.Errorf("%s: %w", call, err)
	}
	if err := k.formerRounds(); err != nil {
		return Kernel{}, err
	}
	return k, nil
}

// String returns the text that ParseKernel reads.
func (k Kernel) String() string {
	return fmt.Sprintf("%s@%d{%s}", k.Name(), k.Depth, k.Config)
}
