package learning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// RankingTime is how long a core takes to rank the configurations of a kernel by a model that is loaded, before any is
// lowered.
type RankingTime struct {
	Kernel     string  `json:"kernel"`
	Candidates int     `json:"candidates"`
	Draw       float64 `json:"draw_seconds"` // to draw them from the space: the median of all rounds, as is the next
	Rank       float64 `json:"rank_seconds"` // to rank them
	Processor  string  `json:"processor"`
	Commit     string  `json:"commit"`
}

// RankingOptions says what is ranked.
type RankingOptions struct {
	Suite  synth.Suite
	Target *target.Target // that the kernels are for
	Model  *predict.Model
	Rounds int
	Commit string
	Log    io.Writer
}

// RankingTimes ranks the candidates of each kernel of a suite, on one core.
func RankingTimes(ctx context.Context, o RankingOptions) ([]RankingTime, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var rows []RankingTime
	programs := o.Suite.Programs()
	for i, p := range programs {
		kernels, err := kernelsOfProgram(&p, o.Target)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, k := range kernels {
			var draw, rank []float64
			row := RankingTime{Kernel: p.Name, Processor: toolchain.ProcessorName(), Commit: o.Commit}
			for range o.Rounds {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				runtime.GC() // what was left by others is not this round's
				began := time.Now()
				list := k.Ranked()
				drawn := time.Now()
				row.Candidates = len(o.Model.RankOf(k, list))
				rank = append(rank, time.Since(drawn).Seconds())
				draw = append(draw, drawn.Sub(began).Seconds())
			}
			row.Draw, row.Rank = measure.Median(draw), measure.Median(rank)
			rows = append(rows, row)
		}
		fmt.Fprintf(o.Log, "%d of %d programs\n", i+1, len(programs))
	}
	if len(rows) == 0 {
		return nil, errors.New("no kernel of the suite has a choice")
	}
	return rows, nil
}

// kernelsOfProgram are the kernels of a program of a suite.
func kernelsOfProgram(p *synth.Program, t *target.Target) ([]*predict.Kernel, error) {
	text, err := p.Source(synth.Options{})
	if err != nil {
		return nil, err
	}
	program, list := lang.Load(diag.NewSource(p.Name+".loom", text))
	if list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	b, list := program.In(t.Arithmetic).Bind(nil)
	if list.HasErrors() {
		return nil, errors.New(list[0].Message)
	}
	return predict.KernelsOf(b, t, schedule.Plan{})
}

// WriteRankingTimes sums them up.
func WriteRankingTimes(w io.Writer, rows []RankingTime) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\tleast\tmedian\tmost\n", quantity.Count(len(rows), "kernel"))
	for _, c := range []struct {
		name, format string
		unit         float64
		of           func(r RankingTime) float64
	}{
		{"candidates", "%.0f", 1, func(r RankingTime) float64 { return float64(r.Candidates) }},
		{"drawn in", "%.1f ms", 1e3, func(r RankingTime) float64 { return r.Draw }},
		{"ranked in", "%.1f ms", 1e3, func(r RankingTime) float64 { return r.Rank }},
	} {
		var list []float64
		for _, r := range rows {
			list = append(list, c.unit*c.of(r))
		}
		fmt.Fprintf(t, "%s\t"+c.format+"\t"+c.format+"\t"+c.format+"\n", c.name, slices.Min(list), measure.Median(list),
			slices.Max(list))
	}
	return t.Flush()
}
