package omnitune

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
)

// Split is what a model has not seen of the scenarios that it is asked about.
type Split struct {
	Name, Doc string
	folds     func(list []*Scenario) []fold
	inner     Group // what models leave out where they validate choices of their own
	unit      Group // what is drawn anew for intervals: scenarios of it are no evidence of their own
}

// Splits are the validations of section 7.4 of Cummins et al.
var Splits = []Split{
	{"10-fold", "a tenth of the scenarios, by 10 shuffles", shuffled, inThirds, byTwin},
	{"synthetic", "all kernels but generated ones", generated, byKernel, byBenchmark},
	{"device", "one device at a time", leavingOut(byDevice), byDevice, byDevice},
	{"kernel", "one kernel at a time, those with equal features together", leavingOut(byKernel), byKernel, byKernel},
	{"dataset", "one dataset at a time", leavingOut(byDataset), byDataset, byDataset},
}

// RecordedSplits are those of recordings. 10-fold knows the same stencil with other elements, as theirs knows it on
// other data; the others leave out whole stencils.
var RecordedSplits = []Split{
	{"10-fold", "a tenth of the scenarios, by 10 shuffles", shuffled, inThirds, byTwin},
	{"synthetic", "all kernels but generated ones", generated, byPattern, byKernel},
	{"kernel", "one stencil at a time", leavingOut(byKernel), byPattern, byKernel},
	{"pattern", "one pattern of stencils at a time", leavingOut(byPattern), byPattern, byKernel},
}

func byDevice(x *Scenario) string    { return x.Device }
func byKernel(x *Scenario) string    { return fmt.Sprint(x.Kernel) }
func byPattern(x *Scenario) string   { return x.Pattern }
func byDataset(x *Scenario) string   { return x.Dataset }
func byBenchmark(x *Scenario) string { return x.Name }

// byTwin is the same of scenarios that are twins, and of no others.
func byTwin(x *Scenario) string {
	return fmt.Sprint(cmp.Or(x.Twin, x.Name), x.Device, x.Dataset, x.Features)
}

// inThirds is one of three groups that scenarios are in by chance, twins in the same.
func inThirds(x *Scenario) string {
	h := fnv.New64a()
	io.WriteString(h, byTwin(x))
	return fmt.Sprint((h.Sum64() >> 32) % 3)
}

// fold are the scenarios that are left out, and the others, which models learn from.
type fold struct {
	name        string
	own, others []*Scenario
}

// of returns the folds of a suite.
func (s Split) of(suite *Suite) ([]fold, error) {
	all := make([]*Scenario, len(suite.Scenarios))
	for i := range all {
		all[i] = &suite.Scenarios[i]
	}
	folds := s.folds(all)
	if len(folds) == 0 || slices.ContainsFunc(folds, func(f fold) bool { return len(f.others) == 0 }) {
		return nil, fmt.Errorf("without %s nothing is left to ask about, or nothing to learn from", s.Doc)
	}
	return folds, nil
}

func leavingOut(group Group) func([]*Scenario) []fold {
	return func(list []*Scenario) []fold { return groupsOf(list, group) }
}

// groupsOf divides scenarios into groups, in the order in which they are met.
func groupsOf(list []*Scenario, group Group) []fold {
	var names []string
	for _, x := range list {
		if name := group(x); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	parts := make([]fold, len(names))
	for i, name := range names {
		parts[i].name = name
		for _, x := range list {
			if group(x) == name {
				parts[i].own = append(parts[i].own, x)
			} else {
				parts[i].others = append(parts[i].others, x)
			}
		}
	}
	return parts
}

const shuffles, tenths, shuffleSeed = 10, 10, 1

// shuffled leaves out tenths of scenarios in ten random orders. Twins are in the same tenth: else a model would be
// asked about what it has seen.
func shuffled(list []*Scenario) []fold {
	twins := groupsOf(list, byTwin)
	var folds []fold
	for k := range shuffles {
		r := rand.New(rand.NewPCG(shuffleSeed, uint64(k)))
		order := r.Perm(len(twins))
		for t := range tenths {
			f := fold{name: fmt.Sprintf("%d.%d", k, t)}
			for place, i := range order {
				if place%tenths == t {
					f.own = append(f.own, twins[i].own...)
				} else {
					f.others = append(f.others, twins[i].own...)
				}
			}
			if len(f.own) > 0 {
				folds = append(folds, f)
			}
		}
	}
	return folds
}

// generated leaves out all kernels that are not generated, and generated ones that are twins of them.
func generated(list []*Scenario) []fold {
	named := map[string]bool{}
	for _, x := range list {
		if !x.Synthetic {
			named[byTwin(x)] = true
		}
	}
	f := fold{name: "kernels"}
	for _, x := range list {
		if !named[byTwin(x)] {
			f.others = append(f.others, x)
		} else {
			f.own = append(f.own, x)
		}
	}
	if len(f.own) == 0 {
		return nil
	}
	return []fold{f}
}
