package predict

import (
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Resources predict what a compiler for a GPU makes of a kernel's configuration, from the features that Speed has.
// Nothing is lowered.
type Resources struct {
	Registers *learn.Boosted `json:"registers"` // of a thread
	// Spills is 1 for kernels that keep values of a thread in local memory, and 0 for those that do not.
	Spills *learn.Boosted `json:"spills"`
}

// Needs are what a configuration is predicted to take.
type Needs struct {
	Registers float64 `json:"registers"` // of a thread, at most what its limit and its block's size leave
	Spills    float64 `json:"spills"`    // how likely it is that not all of its values have one: 0 to 1
}

// MaySpill reports whether a kernel is more likely to spill than not.
func (n Needs) MaySpill() bool { return n.Spills > 0.5 }

// resourceOptions are those of the trees. Each needs fewer than the speed does: it depends on less.
var resourceOptions = learn.BoostedOptions{
	Trees: 150, Depth: 7, Rate: 0.1, Part: 0.5, Features: 25, Leaf: 8, Seed: 1, Runs: 1,
}

// leastCompiled is how many trials a compiler must have told the registers of, for them to be learned.
const leastCompiled = 100

// LearnResources learns from what a compiler told of the trials; nil if it told of too few, as for processors.
func LearnResources(all []*Examples) (*Resources, error) {
	registers := &learn.Numbers{Features: featureNames(apiOf(all))}
	spills := &learn.Numbers{Features: registers.Features}
	for _, e := range all {
		for i := range e.Trials {
			r := &e.Trials[i].Resources
			if r.Registers == 0 {
				continue
			}
			is := 0.0
			if r.Spills > 0 {
				is = 1
			}
			registers.Rows, registers.Targets = append(registers.Rows, e.Rows[i]), append(registers.Targets,
				float64(r.Registers))
			spills.Rows, spills.Targets = append(spills.Rows, e.Rows[i]), append(spills.Targets, is)
		}
	}
	if len(registers.Rows) < leastCompiled {
		return nil, nil
	}
	m := &Resources{}
	var err error
	if m.Registers, err = learn.NewBoosted(registers, resourceOptions); err != nil {
		return nil, err
	}
	m.Spills, err = learn.NewBoosted(spills, resourceOptions)
	return m, err
}

// givenResources are Resources for one kernel: the features of its program are known.
type givenResources struct {
	registers, spills *learn.Given
	roles             schedule.FamilyRoles
	on                *machine.Machine
}

// given prepares predictions for a kernel.
func (m *Resources) given(k *Kernel, program []float64) *givenResources {
	return &givenResources{m.Registers.Given(program), m.Spills.Given(program), k.Space.Roles(), k.Target.Machine}
}

// needs predicts what configurations take, by their features, one row after the other.
func (g *givenResources) needs(list []schedule.Config, rows []float64) []Needs {
	if len(list) == 0 {
		return nil
	}
	ask := func(trees *learn.Given) []float64 {
		sums := slices.Repeat([]float64{trees.Start()}, len(list))
		trees.Add(sums, rows, len(rows)/len(list), 0, trees.Trees())
		return sums
	}
	registers, spills := ask(g.registers), ask(g.spills)
	needs := make([]Needs, len(list))
	for i, c := range list {
		most := Available(g.roles.Of(c), g.on)
		needs[i] = Needs{
			Registers: math.Round(min(most, max(1, registers[i]))), Spills: min(1, max(0, spills[i])),
		}
	}
	return needs
}

// NeedsOf predicts what configurations of a kernel take; nil if the model does not tell.
func (m *Model) NeedsOf(k *Kernel, list []schedule.Config) []Needs {
	if m.Resources == nil {
		return nil
	}
	program, of := k.describe()
	var rows []float64
	for _, c := range list {
		rows = of.Append(rows, c)
	}
	return m.Resources.given(k, program).needs(list, rows)
}

// needsOf predicts what a configuration of a kernel takes; nil if the model does not tell. The program's features and
// what describes configurations are those of Kernel.describe.
func (m *Model) needsOf(k *Kernel, program []float64, of features.Configurations, c schedule.Config) *Needs {
	if m.Resources == nil {
		return nil
	}
	return &m.Resources.given(k, program).needs([]schedule.Config{c}, of.Of(c))[0]
}

// Available is how many registers a thread of a configuration can have on a GPU, by its limit and its block's size.
func Available(set schedule.ByRole, m *machine.Machine) float64 {
	if m == nil || m.GPU == nil {
		return math.Inf(1)
	}
	e := lower.Estimate{Threads: int64(set.Int(schedule.Threads, 1)), Most: int64(set.Int(schedule.RegisterLimit, 0))}
	return float64(e.Available(m.GPU))
}
