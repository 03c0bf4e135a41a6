package kernel

// Optimise puts what passes make of them in the place of a module's kernels.
// The passes are told what the sizes are in a kernel's launches; size says what
// a parameter of the program may be.
//
//	kernel.Optimise(m, kernel.GPU, func(p int) kernel.Interval { return kernel.Exactly(bound.Params[p]) })
func Optimise(m *Module, passes func(Ranges) []Pass, size func(param int) Interval) {
	var all []*Launch
	for _, launches := range m.Stages { // in any order: ranges are joined
		all = append(all, launches...)
	}
	for i, k := range m.Kernels {
		next := Apply(k, passes(LaunchRanges(k, all, size)))
		m.Kernels[i] = next
		for _, l := range all {
			if l.Kernel == k {
				l.Kernel = next
			}
		}
	}
}
