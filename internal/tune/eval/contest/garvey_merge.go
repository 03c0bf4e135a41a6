package contest

import (
	"fmt"
	"slices"
)

// Merge puts the rows of kernels that were not replayed beside those that were, as an earlier result has them. Averages
// over kernels, and what compares kernels, stay those of the earlier result if it has such kernels: a part of them has
// other averages. It returns how many kernels there are that were not replayed.
func (g *GarveyResult) Merge(old *GarveyResult) (int, error) {
	replayed := func(kernel string) bool {
		return slices.ContainsFunc(g.Kernels, func(k GarveyKernel) bool { return k.Kernel == kernel })
	}
	kernels := slices.DeleteFunc(slices.Clone(old.Kernels), func(k GarveyKernel) bool { return replayed(k.Kernel) })
	if len(kernels) == 0 {
		return 0, nil
	}
	if old.Device != g.Device || old.Grid != g.Grid || old.Set != g.Set || old.Sample != g.Sample ||
		old.Seeds != g.Seeds {
		of := func(r *GarveyResult) string {
			return fmt.Sprintf("%s, %s on %s with %d seeds", r.Definitions(), r.Device, r.Grid, r.Seeds)
		}
		return 0, fmt.Errorf("it has %d other kernels, of %s, and these are of %s: give another file", len(kernels),
			of(old), of(g))
	}
	place := func(kernel string) int { return slices.Index(garveyKernels, kernel) }
	loading := slices.DeleteFunc(slices.Clone(old.Loading), func(x GarveyLoading) bool { return replayed(x.Kernel) })
	g.Kernels, g.Loading = append(kernels, g.Kernels...), append(loading, g.Loading...)
	slices.SortStableFunc(g.Kernels, func(a, b GarveyKernel) int { return place(a.Kernel) - place(b.Kernel) })
	slices.SortStableFunc(g.Loading, func(a, b GarveyLoading) int { return place(a.Kernel) - place(b.Kernel) })
	g.Commit = old.Commit
	g.Rows, g.ByTechnique, g.Interest, g.Values = old.Rows, old.ByTechnique, old.Interest, old.Values
	g.sum()
	return len(kernels), nil
}
