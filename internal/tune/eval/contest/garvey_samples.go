package contest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// SampledRow is a column of Tables 9 and 10 of Garvey 2018, or a part of Table 11, on samples of spaces: what the
// technique of loading is worth that forests choose. A technique's time is the best of the sample's configurations of
// it, in the place of the best that a heuristic finds.
type SampledRow struct {
	Table          string  `json:"table"` // sizes, shapes or arithmetic
	Of             string  `json:"of"`    // a grid, or operations
	Kernels        int     `json:"kernels"`
	Configurations float64 `json:"configurations"` // of the best technique
	Correct        int     `json:"correct"`        // kernels whose best technique is chosen
	// Oracle and Chosen are the speeds of the best and the chosen technique over as many random configurations of all
	// techniques, geometric means. Weighted is the penalty-weighted accuracy: the mean of the chosen over the best.
	Oracle   float64 `json:"oracle_over_random"`
	Chosen   float64 `json:"chosen_over_random"`
	Weighted float64 `json:"weighted_accuracy"`
	// Usual is what ZeroR has: the weighted accuracy of the technique that is the best most often elsewhere.
	Usual float64 `json:"weighted_accuracy_zeror"`
}

// labelled is a kernel with the technique that is the best for it, to learn from.
type labelled struct {
	group     string // the stencil
	features  []float64
	technique int
}

// sample is a recorded sample of a kernel's space.
type sample struct {
	labelled
	table, of string
	times     []float64 // of the techniques, seconds; infinite where nothing worked
	random    []float64 // by technique: of as many configurations of all
	tried     []int     // by technique
}

// featureNames are the features of section 6.1, and with more arithmetic those of Table 11.
func featureNames(arithmetic bool) []string {
	if arithmetic {
		return append(slices.Clone(features.OfGarvey), "adds", "muls")
	}
	return features.OfGarvey
}

// garveyFeatures are the features of a kernel, and the stencil that it is of.
func garveyFeatures(name string, arithmetic bool) (group string, values []float64, err error) {
	suite := suiteOf(name)
	x, err := boundOf(suite, name)
	if err != nil {
		return "", nil, err
	}
	all := map[string]float64{}
	for i, v := range features.Program(x, x.Program.Calls[0]) {
		all[features.OfProgram[i].Name] = v
	}
	s, err := synth.FindSuite(suite)
	if err != nil {
		return "", nil, err
	}
	p, err := s.Find(name)
	if err != nil {
		return "", nil, err
	}
	for _, f := range featureNames(arithmetic) {
		v := all[f]
		if f == "adds" || f == "muls" {
			v = math.Round(v / float64(p.Points)) // for each cell that is read
		}
		values = append(values, v)
	}
	return p.Group, values, nil
}

// suiteOf is the suite that has a kernel of Garvey 2018.
func suiteOf(name string) string {
	if slices.ContainsFunc(synth.Kernels(), func(k synth.Kernel) bool { return k.Name() == name }) {
		return "garvey"
	}
	return "garvey416"
}

// boundOf is a kernel on some grid: features of stencils do not depend on it.
func boundOf(suite, name string) (*ir.Binding, error) {
	list, err := GarveyPart{Suite: suite, Names: []string{name}, Size: [3]int{32, 32, 32}}.Subjects()
	if err != nil {
		return nil, err
	}
	return list[0].bound, nil
}

// stencilOf names the stencil of a kernel as recordings of package predict do.
func stencilOf(name string) (string, error) {
	x, err := boundOf(suiteOf(name), name)
	if err != nil {
		return "", err
	}
	return (&predict.Kernel{Bound: x, Call: x.Program.Calls[0]}).Group(), nil
}

// GarveySamples judges forests on the samples of a folder (Record, with GarveyPart.OneIn). Those that choose for other
// sizes and shapes have learned from the kernels that are recorded as a whole; those for more arithmetic from these and
// from the other samples with more. Neither has learned from the stencil that it chooses for.
func GarveySamples(ctx context.Context, folder string, g *GarveyResult, seeds int, log io.Writer) (
	[]SampledRow, error) {
	whole, err := labels(g, false)
	if err != nil {
		return nil, err
	}
	if len(whole) == 0 {
		return nil, fmt.Errorf("%s: forests learn from kernels that are recorded as a whole, and there are none",
			folder)
	}
	all, err := readSamples(ctx, folder, seeds, log)
	if err != nil {
		return nil, err
	}
	intense, err := labels(g, true)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.table == "arithmetic" {
			intense = append(intense, s.labelled)
		}
	}
	var rows []SampledRow
	for _, table := range []string{"sizes", "shapes", "arithmetic"} {
		learned := whole
		if table == "arithmetic" {
			learned = intense
		}
		for _, of := range groupsOf(all, table) {
			var list []*sample
			for _, s := range all {
				if s.table == table && s.of == of {
					list = append(list, s)
				}
			}
			row, err := judgeSamples(list, learned)
			if err != nil {
				return nil, err
			}
			rows = append(rows, *row)
		}
	}
	return rows, nil
}

// groupsOf are the parts of a table, the smallest grids first.
func groupsOf(samples []*sample, table string) []string {
	var list []string
	for _, s := range samples {
		if s.table == table && !slices.Contains(list, s.of) {
			list = append(list, s.of)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return list
}

// labels are the kernels that are recorded as a whole, each with the technique with which hybrid found its best.
func labels(g *GarveyResult, arithmetic bool) ([]labelled, error) {
	if g == nil {
		return nil, nil
	}
	var list []labelled
	for _, k := range g.Kernels {
		group, values, err := garveyFeatures(k.Kernel, arithmetic)
		if err != nil {
			return nil, err
		}
		best, least := -1, math.Inf(1)
		for _, x := range g.Loading {
			if x.Kernel == k.Kernel && x.HybridBest > 0 && x.HybridBest < least {
				best, least = slices.IndexFunc(techniques, func(t technique) bool { return t.name == x.Technique }),
					x.HybridBest
			}
		}
		if best >= 0 {
			list = append(list, labelled{group, values, best})
		}
	}
	return list, nil
}

// HasSamples reports whether a folder has recordings of samples, or of spaces as a whole.
func HasSamples(folder string) (bool, error) {
	if err := checkFolder(folder); err != nil {
		return false, err
	}
	files, err := os.ReadDir(folder)
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		return strings.HasSuffix(f.Name(), recordingEnd)
	}), err
}

// readSamples reads the complete samples of a folder.
func readSamples(ctx context.Context, folder string, seeds int, log io.Writer) ([]*sample, error) {
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder) // by name
	if err != nil {
		return nil, err
	}
	var list []*sample
	var all []*recordingFile
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), recordingEnd)
		if !ok {
			continue
		}
		b, err := openRecording(folder, name)
		if err != nil {
			return nil, err
		}
		if !b.complete() {
			fmt.Fprintf(log, "%s is left out: it is not recorded as a whole\n", b.name)
			continue
		}
		all = append(all, b)
	}
	if err := checkVersions(all, false); err != nil {
		return nil, err
	}
	for _, b := range all {
		s, err := readSample(ctx, b, seeds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.path(), err)
		}
		list = append(list, s)
	}
	return list, nil
}

func readSample(ctx context.Context, b *recordingFile, seeds int) (*sample, error) {
	s := &sample{of: b.about.Grid}
	edges := strings.Split(b.about.Grid, "x")
	switch {
	case !slices.ContainsFunc(synth.Kernels(), func(k synth.Kernel) bool { return k.Name() == b.about.Program }):
		_, work, _ := strings.Cut(b.about.Program, "-a")
		adds, muls, _ := strings.Cut(work, "m")
		s.table, s.of = "arithmetic", fmt.Sprintf("additions: %s, multiplications: %s", last(adds), muls)
	case len(slices.Compact(edges)) == 1:
		s.table = "sizes"
	default:
		s.table = "shapes"
	}
	var err error
	if s.group, s.features, err = garveyFeatures(b.about.Program, s.table == "arithmetic"); err != nil {
		return nil, err
	}
	r, err := b.replayable()
	if err != nil {
		return nil, err
	}
	s.technique = -1
	for i, t := range techniques {
		s.times, s.random, s.tried = append(s.times, math.Inf(1)), append(s.random, math.Inf(1)), append(s.tried, 0)
		part, err := t.of(r)
		if err != nil {
			continue // no configuration of it is in the sample
		}
		y, err := replay.NewBaseline(part)
		if err != nil {
			continue // none works
		}
		s.times[i], s.tried[i] = y.Best(), len(part.Trials)
		random, err := samples(ctx, r, seeds, s.tried[i], math.Inf(1))
		if err != nil {
			return nil, err
		}
		s.random[i] = typicalCost(random).Best
		if s.technique < 0 || s.times[i] < s.times[s.technique] {
			s.technique = i
		}
	}
	if s.technique < 0 {
		return nil, errors.New("no configuration works")
	}
	return s, nil
}

// last is what follows the last dash: kernels' names have some.
func last(text string) string { return text[strings.LastIndex(text, "-")+1:] }

// judgeSamples chooses techniques of samples by forests that have not learned from their stencils.
func judgeSamples(list []*sample, learned []labelled) (*SampledRow, error) {
	row := &SampledRow{Table: list[0].table, Of: list[0].of, Kernels: len(list)}
	n := float64(len(list))
	for _, s := range list {
		others := slices.DeleteFunc(slices.Clone(learned), func(l labelled) bool { return l.group == s.group })
		chosen, usual, err := choose(s.features, others, s.table == "arithmetic")
		if err != nil {
			return nil, err
		}
		if chosen == s.technique {
			row.Correct++
		}
		best := s.times[s.technique]
		row.Configurations += float64(s.tried[s.technique]) / n
		row.Oracle += math.Log(s.random[s.technique]/best) / n
		row.Weighted += best / s.times[chosen] / n
		row.Usual += best / s.times[usual] / n
		if math.IsInf(s.times[chosen], 1) { // nothing of it works
			row.Chosen = math.Inf(-1)
			continue
		}
		row.Chosen += math.Log(s.random[chosen]/s.times[chosen]) / n
	}
	row.Oracle, row.Chosen = math.Exp(row.Oracle), math.Exp(row.Chosen)
	return row, nil
}

// choose returns the technique that a forest chooses, of ten trees as in section 6.1, and the most frequent one.
func choose(values []float64, others []labelled, arithmetic bool) (chosen, usual int, err error) {
	if len(others) == 0 {
		return 0, 0, errors.New("all kernels are of one stencil")
	}
	t := &learn.Table{}
	for _, name := range featureNames(arithmetic) {
		t.Features = append(t.Features, learn.Feature{Name: name})
	}
	for _, x := range techniques {
		t.Classes = append(t.Classes, x.name)
	}
	wins := make([]float64, len(techniques))
	for _, o := range others {
		t.Rows, t.Labels = append(t.Rows, o.features), append(t.Labels, o.technique)
		wins[o.technique]++
	}
	f, err := learn.NewClassForest(t, learn.GarveyForest)
	if err != nil {
		return 0, 0, err
	}
	return largest(f.Classify(values)), largest(wins), nil
}

// largest is the index of the largest number, the first of equals.
func largest(list []float64) int { return slices.Index(list, slices.Max(list)) }

// WriteSamples prints the rows as tables.
func WriteSamples(w io.Writer, rows []SampledRow) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	title := map[string]string{
		"sizes":      "sizes (Table 9)",
		"shapes":     "shapes (Table 10)",
		"arithmetic": "more arithmetic for each cell (Table 11)",
	}
	before := ""
	for _, r := range rows {
		if r.Table != before {
			fmt.Fprintf(t, "%s\tkernels\tconfigurations\tcorrect\toracle over random\tchosen over random\t"+
				"weighted accuracy\tzeror's\n", title[r.Table])
			before = r.Table
		}
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%d\t%.3f\t%.3f\t%.3f\t%.3f\n", r.Of, r.Kernels, r.Configurations, r.Correct,
			r.Oracle, r.Chosen, r.Weighted, r.Usual)
	}
	return t.Flush()
}
