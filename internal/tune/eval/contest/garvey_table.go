package contest

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/gridloom/gridloom/internal/tune/eval/replay"
)

// table collects the rows of Tables 3 and 7 (Garvey 2018), kernel by kernel.
type table struct {
	names []string
	cells [][]searchCost // by row and kernel
	found [][]float64    // by row and kernel: in what part of its searches a row had the kernel's best
}

// The names of rows that others are compared with.
const (
	randomRow = "Rand"
	expertRow = "ExpS"
)

// oracles carry out a grouped search with every technique of loading, and take
// the best.
var oracles = []struct{ name, strategy string }{
	{"Dimensions", "dimension"},
	{"Optimizations", "optimisation"},
	{"Hybrid of the paper", "hybrid:shapes=0"},
	{"Hybrid", "hybrid"},
	{"Hybrid restricted", "hybrid-restricted"},
}

// add runs every strategy on a kernel's recording.
func (t *table) add(ctx context.Context, r *replay.Recording, parts []*replay.Recording, seeds int) error {
	var searches [][]searchCost // by row: more than one at random
	row := func(name string, list ...searchCost) {
		if i := slices.Index(t.names, name); i < 0 {
			t.names = append(t.names, name)
			t.cells, t.found = append(t.cells, nil), append(t.found, nil)
		}
		searches = append(searches, list)
	}
	expert, err := try(ctx, r, "expert", 1, math.MaxInt, math.Inf(1))
	if err != nil {
		return err
	}
	row(expertRow, expert)
	random, err := samples(ctx, r, seeds, sampleSize, math.Inf(1))
	if err != nil {
		return err
	}
	row(randomRow, random...)
	for _, o := range oracles {
		var list []searchCost
		for _, part := range parts {
			e, err := try(ctx, part, o.strategy, 1, math.MaxInt, math.Inf(1))
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		all := sum(list)
		row(o.name, all)
		if o.strategy == "hybrid" { // and random search for the same time
			short, err := samples(ctx, r, seeds, math.MaxInt, all.total())
			if err != nil {
				return err
			}
			row("Rand, as long as Hybrid", short...)
		}
	}
	best := math.Inf(1)
	for _, list := range searches {
		best = min(best, fastest(list))
	}
	for i, list := range searches {
		found := 0.0
		for _, e := range list {
			if e.Best == best {
				found += 1 / float64(len(list))
			}
		}
		t.cells[i], t.found[i] = append(t.cells[i], typicalCost(list)), append(t.found[i], found)
	}
	return nil
}

// rows averages over the kernels.
func (t *table) rows() []GarveyRow {
	speedup := func(row, over int) float64 {
		total := 0.0
		for k, e := range t.cells[row] {
			total += math.Log(t.cells[over][k].Best / e.Best)
		}
		return math.Exp(total / float64(len(t.cells[row])))
	}
	expert, random := slices.Index(t.names, expertRow), slices.Index(t.names, randomRow)
	var list []GarveyRow
	for i, name := range t.names {
		r := GarveyRow{Strategy: name, OverRandom: speedup(i, random), OverExpert: speedup(i, expert)}
		n := float64(len(t.cells[i]))
		for k, e := range t.cells[i] {
			r.Configurations += e.Configurations / n
			r.Compile += e.Compile / n
			r.Run += e.Run / n
			r.Best += t.found[i][k]
		}
		list = append(list, r)
	}
	return list
}

// WriteGarvey prints the result as tables.
func WriteGarvey(w io.Writer, g *GarveyResult) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t,
		"strategy\tspeed-up over random\tover expert\tconfigurations\tcompile time (s)\trun time (s)\tbest count\n")
	for _, r := range g.Rows {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.0f\t%.1f\t%.1f\t%.1f\n", r.Strategy, r.OverRandom, r.OverExpert,
			r.Configurations, r.Compile, r.Run, r.Best)
	}
	fmt.Fprintf(t, "\nkernel\tloading\trandom (ms)\thybrid (ms)\tof random's best\ttime to reach it\twithin 1 %%\n")
	for _, x := range g.Loading {
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%.4g\t%.3f\t%s\t%s\n", x.Kernel, x.Technique, x.RandomBest, x.HybridBest,
			x.Fraction, percent(x.Part), percent(x.Near))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	s := g.Summary
	_, err := fmt.Fprintf(w,
		"\nhybrid reaches random sampling's best in %d of %d cases, in %.0f %% of its time on average, in %d of them "+
			"in at most 30 %%; within 1 %% in %d, in %.0f %% of the time, in %d in at most 30 %%\n",
		s.Reached, s.Pairs, 100*s.MeanPart, s.InTime, s.Near, 100*s.MeanNear, s.NearInTime)
	if err != nil {
		return err
	}
	return writeInterest(w, g.Interest, g.Values)
}

func percent(part *float64) string {
	if part == nil {
		return "never"
	}
	return fmt.Sprintf("%.0f %%", 100**part)
}
