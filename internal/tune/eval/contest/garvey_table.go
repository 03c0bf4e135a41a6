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

// table collects the rows of Tables 3, 4 and 7 (Garvey 2018), kernel by kernel.
type table struct {
	rowsOf  []GarveyRow    // strategy, kind and prediction of each row
	cells   [][]searchCost // by row and kernel
	found   [][]float64    // by row and kernel: in what part of its searches a row had the kernel's best
	kernels []string
	best    []float64        // by kernel
	by      [][][]searchCost // by grouped search, kernel and technique; its time is infinite where nothing works
	random  [][][]float64    // likewise: of as many configurations at random, of all techniques; 0 if it was not tried
}

// The names of rows that others are compared with.
const (
	randomRow = "Rand"
	expertRow = "ExpS"
)

// The kinds of rows. An oracle carries out a grouped search with every technique of loading, and takes the best. What
// is predicted does so with the technique alone that a forest chooses.
const (
	baselineRow  = "baseline"
	oracleRow    = "oracle"
	predictedRow = "predicted"
)

// grouped are the searches that have an oracle and are predicted for.
var grouped = []struct {
	name, strategy string
	breakdown      bool // also by technique, as in Table 4
}{
	{"Dimensions", "dimension", true},
	{"Optimizations", "optimisation", true},
	{"Hybrid of the paper", "hybrid:shapes=0", true},
	{"Hybrid", "hybrid", true},
	{"Hybrid restricted", "hybrid-restricted", false},
}

// row is that of a strategy and kind; it is made if there is none.
func (t *table) row(r GarveyRow) int {
	for i, x := range t.rowsOf {
		if x.Strategy == r.Strategy && x.Kind == r.Kind && learnedFrom(x) == learnedFrom(r) {
			return i
		}
	}
	t.rowsOf = append(t.rowsOf, r)
	t.cells, t.found = append(t.cells, nil), append(t.found, nil)
	return len(t.rowsOf) - 1
}

// learnedFrom is what the forest of a row has learned from; nothing without one.
func learnedFrom(r GarveyRow) string {
	if r.Prediction == nil {
		return ""
	}
	return r.Learned
}

// add runs every strategy on a kernel's recording, of which there are parts by technique.
func (t *table) add(ctx context.Context, kernel string, r *replay.Recording, parts []*replay.Recording,
	seeds int) error {
	t.kernels = append(t.kernels, kernel)
	rows, searches := []int(nil), [][]searchCost(nil) // more than one search at random
	row := func(name, kind string, list ...searchCost) {
		rows = append(rows, t.row(GarveyRow{Strategy: name, Kind: kind}))
		searches = append(searches, list)
	}
	expert, err := try(ctx, r, "expert", 1, math.MaxInt, math.Inf(1))
	if err != nil {
		return err
	}
	row(expertRow, baselineRow, expert)
	random, err := samples(ctx, r, seeds, sampleSize, math.Inf(1))
	if err != nil {
		return err
	}
	row(randomRow, baselineRow, random...)
	if t.by == nil {
		t.by, t.random = make([][][]searchCost, len(grouped)), make([][][]float64, len(grouped))
	}
	for s, o := range grouped {
		list, as := make([]searchCost, len(parts)), make([]float64, len(parts))
		for i, part := range parts {
			list[i].Best = math.Inf(1)
			if part == nil {
				continue
			}
			if list[i], err = try(ctx, part, o.strategy, 1, math.MaxInt, math.Inf(1)); err != nil {
				return err
			}
			if !o.breakdown {
				continue
			}
			many, err := samples(ctx, r, seeds, int(list[i].Configurations), math.Inf(1))
			if err != nil {
				return err
			}
			as[i] = typicalCost(many).Best
		}
		t.by[s], t.random[s] = append(t.by[s], list), append(t.random[s], as)
		all := sum(list)
		row(o.name, oracleRow, all)
		if o.strategy == "hybrid" { // and random search for the same time
			short, err := samples(ctx, r, seeds, math.MaxInt, all.total())
			if err != nil {
				return err
			}
			row("Rand, as long as Hybrid", baselineRow, short...)
		}
	}
	best := math.Inf(1)
	for _, list := range searches {
		best = min(best, fastest(list))
	}
	t.best = append(t.best, best)
	for i, list := range searches {
		t.put(rows[i], list, best)
	}
	return nil
}

// put adds the searches of a row on the next kernel.
func (t *table) put(row int, list []searchCost, best float64) {
	found := 0.0
	for _, e := range list {
		if e.Best == best {
			found += 1 / float64(len(list))
		}
	}
	t.cells[row], t.found[row] = append(t.cells[row], typicalCost(list)), append(t.found[row], found)
}

// rows averages over the kernels.
func (t *table) rows() []GarveyRow {
	find := func(name string) int {
		return slices.IndexFunc(t.rowsOf, func(r GarveyRow) bool { return r.Strategy == name })
	}
	expert, random := find(expertRow), find(randomRow)
	var list []GarveyRow
	for i, r := range t.rowsOf {
		r.OverRandom, r.OverExpert = t.speedup(t.cells[i], random), t.speedup(t.cells[i], expert)
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

// speedup is the geometric mean of the speeds of searches, one a kernel, over those of a row; 0 if one found nothing.
func (t *table) speedup(list []searchCost, over int) float64 {
	total := 0.0
	for k, e := range list {
		total += math.Log(t.cells[over][k].Best / e.Best)
	}
	return math.Exp(total / float64(len(list)))
}

// WriteGarvey prints the result as tables.
func WriteGarvey(w io.Writer, g *GarveyResult) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t,
		"strategy\tspeed-up over random\tover expert\tconfigurations\tcompile time (s)\trun time (s)\tbest count\n")
	for _, r := range g.Rows {
		name := r.Strategy
		switch {
		case r.Kind == oracleRow:
			name += ", oracle"
		case r.Prediction != nil:
			name += ", predicted from " + r.Learned
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.0f\t%.1f\t%.1f\t%.1f\n", name, r.OverRandom, r.OverExpert,
			r.Configurations, r.Compile, r.Run, r.Best)
	}
	writePredictions(t, g.Rows)
	if len(g.ByTechnique) > 0 {
		fmt.Fprintln(t, "\nloading (Table 4)\tstrategy\tspeed-up over random\tover as many at random\t"+
			"configurations\tbest count")
	}
	for _, x := range g.ByTechnique {
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%.3f\t%.0f\t%d\n", x.Technique, x.Strategy, x.OverRandom, x.OverAsMany,
			x.Configurations, x.Best)
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
