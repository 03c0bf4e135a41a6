package proof

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// spanTools are what compute-sanitizer looks for in kernels of several iterations: they keep cells in shared memory,
// meet at barriers of their own, and write spares.
var spanTools = []string{"memcheck", "racecheck", "initcheck", "synccheck"}

// watchedCells is how many cells grids have, about, under compute-sanitizer: several tiles of most kernels.
const watchedCells = 1 << 13

// watch runs the program of a seed with spans for small grids under compute-sanitizer. It returns under how many
// tools nothing was found, and how it failed; "" if it did not.
func (p *deviceSpanProver) watch(ctx context.Context, seed uint64) (clean int, failure *Failure) {
	d, err := p.draw(seed, watchedCells)
	if err != nil {
		return 0, nil // there is no such span at this size
	}
	d.plan = schedule.Plan{Kernels: d.plan.Kernels} // the others as the source says
	path := filepath.Join(p.folder, fmt.Sprintf("seed_%d.loom", seed))
	if err := os.WriteFile(path, []byte(d.source), 0o644); err != nil {
		return 0, &Failure{Seed: seed, Reason: err.Error()}
	}
	defer os.Remove(path)
	args := []string{"run", path, "--device", p.Device, "--fp", d.mode.String(), "--plan", d.plan.String(),
		"--no-graph", "--no-store", "--quiet"}
	for _, name := range slices.Sorted(maps.Keys(d.at.set)) {
		args = append(args, "--set", name+"="+d.at.set[name])
	}
	for _, tool := range spanTools {
		reason := p.checker.watch(ctx, tool, args)
		if ctx.Err() != nil {
			return clean, nil
		}
		if reason != "" {
			f := d.failure(d.at.set, reason)
			return clean, &f
		}
		clean++
	}
	return clean, nil
}
