package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// sweep is the trial of many plans of one case.
type sweep struct {
	ctx    context.Context
	opts   *SpatialOptions
	c      spatialCase
	bound  *ir.Binding
	worker *caseWorker
	rivals []*rivalProcess
	rows   []SpatialRow
	code   map[string][]byte // by plan
	best   float64           // seconds of a step
}

// candidate is a plan that was lowered.
type candidate struct {
	plan   string
	source []byte
	err    error
}

// lowered lowers the plans on all processors, and sends them in order.
func lowered(ctx context.Context, bound *ir.Binding, plans []string, mode arith.Mode) <-chan candidate {
	slots := make([]chan candidate, len(plans))
	for i := range slots {
		slots[i] = make(chan candidate, 1)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				c := candidate{plan: plans[i], err: context.Cause(ctx)}
				if c.err == nil {
					c.source, c.err = source(bound, plans[i], mode)
				}
				slots[i] <- c
			}
		})
	}
	go func() {
		for i := range plans {
			next <- i
		}
		close(next)
	}()
	out := make(chan candidate)
	go func() {
		defer close(out)
		for _, s := range slots {
			out <- <-s
		}
	}()
	return out
}

// source lowers and prints a plan. A plan that breaks the compiler is refused
// like one that is not legal, so that a sweep goes on.
func source(bound *ir.Binding, plan string, mode arith.Mode) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the plan breaks the compiler: %v", r)
		}
	}()
	m, _, err := modules(bound, plan, mode)
	if err != nil {
		return nil, err
	}
	return []byte(emit.Source(emit.CUDA, m)), nil
}

// try lowers, compiles, checks and times plans, and adds their rows. Plans
// with the same code share the first one's row.
func (s *sweep) try(plans []string) error {
	s.code = map[string][]byte{}
	s.best = math.Inf(1)
	tasks := make(chan compileTask)
	refused := make(chan candidate)
	go func() {
		defer close(tasks)
		defer close(refused)
		same := map[string]string{}
		number := map[string]int{}
		for i, plan := range plans {
			number[plan] = i
		}
		for c := range lowered(s.ctx, s.bound, plans, arith.Contract) {
			if c.err == nil {
				if first, ok := same[string(c.source)]; ok {
					c.err = fmt.Errorf("the code of %s", first)
				} else {
					same[string(c.source)] = c.plan
				}
			}
			if c.err != nil {
				refused <- c
				continue
			}
			tasks <- compileTask{number[c.plan], c.source, s.worker.info.Arch, arith.Contract}
		}
	}()
	done := compileAll(s.ctx, min(s.opts.processes(), len(plans)), tasks)
	for done != nil || refused != nil {
		select {
		case c, ok := <-refused:
			if !ok {
				refused = nil
				continue
			}
			s.refuse(c.plan, "plan: "+strings.TrimPrefix(c.err.Error(), "plan: "), false)
		case c, ok := <-done:
			if !ok {
				done = nil
				continue
			}
			if s.ctx.Err() == nil { // otherwise drain
				s.measurePlan(plans[c.Number], c)
			}
		}
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return nil
}

func (s *sweep) refuse(plan, why string, wrong bool) {
	r := s.row(plan)
	r.Refused, r.Wrong = why, wrong
	s.rows = append(s.rows, r)
	if wrong {
		s.opts.logf("WRONG  %s: %s\n", plan, why)
		return
	}
	s.opts.logf("  %-60s refused: %s\n", plan, why)
}

// measurePlan checks and times a plan that was compiled.
func (s *sweep) measurePlan(plan string, c compiled) {
	if c.Failed != "" {
		s.refuse(plan, "compiler: "+c.Failed, false)
		return
	}
	r := rule{Batches: 3, Least: min(10*time.Millisecond, s.opts.Batch), Slow: 1.25 * s.best}
	if math.IsInf(r.Slow, 0) {
		r.Slow = 0
	}
	t, err := s.worker.try(attempt{Plan: plan, Code: c.Code, Rule: r})
	if err != nil {
		var f *failure
		s.refuse(plan, "launch: "+err.Error(), errors.As(err, &f) && f.Wrong)
		return
	}
	row := s.row(plan)
	row.CompileSeconds = c.Seconds
	row.took(t, s.worker.info.Points)
	s.best = min(s.best, row.Step/1000)
	s.code[plan] = c.Code
	s.rows = append(s.rows, row)
	s.opts.logf("  %8.1f GStencil/s  %3d registers  %4d spilled  %6d shared  %s\n", row.GStencils, row.Registers,
		row.Spills, row.Shared, plan)
}

// took fills in what a trial has found.
func (r *SpatialRow) took(t trial, points float64) {
	r.Kernels, r.Launched = t.Full, t.Kernels
	r.Registers, r.Spills, r.Shared = t.Registers, t.Spills, t.Shared
	r.CellsChecked, r.Difference, r.Launches, r.Condition = t.Cells, t.Difference, t.Launches, t.Condition
	r.timed(t.Times, points)
}

// finalists are how many of the fastest plans are timed again.
const finalists = 3

// final times the fastest plans, the copies and the rivals in turn, a batch of
// each in every round, so that a drift of the clocks meets all of them.
func (s *sweep) final() error {
	fast := s.fastest(finalists)
	if len(fast) == 0 {
		return errors.New("no plan gave a kernel that works")
	}
	if s.opts.Quick {
		fast = fast[:1]
	}
	for _, r := range fast {
		a := attempt{Plan: r.Plan, Code: s.code[r.Plan], Rule: rule{Batches: 1, Least: s.opts.Batch}, Keep: true}
		t, err := s.worker.try(a)
		if err != nil {
			return fmt.Errorf("%s, tried again: %w", r.Plan, err)
		}
		r.Launches = t.Launches
	}
	names := []string{copyDriver, copyOne, copyFour}
	for _, r := range fast {
		names = append(names, r.Plan)
	}
	if err := s.prepareRivals(); err != nil {
		return err
	}
	times := map[string][]float64{}
	for round := range s.opts.Batches + 1 { // the first is to warm up
		for _, name := range names {
			t, err := s.worker.once(name, s.opts.Batch)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if round > 0 {
				times[name] = append(times[name], t)
			}
		}
		for _, t := range s.rivals {
			t.batch(round > 0)
		}
	}
	bytes := s.worker.info.Points * s.worker.info.Bytes
	driver := s.copyRate(times[copyDriver], bytes)
	kernel := max(s.copyRate(times[copyOne], bytes), s.copyRate(times[copyFour], bytes))
	for i := range s.rows {
		r := &s.rows[i]
		r.CopyDriverGBs, r.CopyKernelGBs, r.CopyGBs = driver, kernel, max(driver, kernel)
		if r.Refused == "" {
			r.FractionOfCopy = r.GStencils * r.BytesPerPoint / r.CopyGBs
		}
	}
	best := fast[0]
	for _, r := range fast {
		r.Final = true
		r.timed(times[r.Plan], s.worker.info.Points)
		if r.GStencils > best.GStencils {
			best = r
		}
	}
	best.best = true
	best.against(s.results())
	if s.opts.Counters {
		var err error
		if best.Counters, err = s.count(best); err != nil {
			s.opts.logf("  %v\n", err)
		}
	}
	if s.opts.all || s.opts.Quick {
		return nil
	}
	return s.strict(best)
}

// strict compares the best plan's strict code bit for bit. A difference spoils
// the row; that the plan does not fit the sizes or the mode is a note.
func (s *sweep) strict(best *SpatialRow) error {
	var err error
	best.Strict, err = s.worker.strict(best.Plan)
	var f *failure
	switch {
	case err == nil, s.ctx.Err() != nil:
		return err
	case errors.As(err, &f) && f.Wrong:
		best.Wrong, best.Refused = true, "strict: "+err.Error()
		s.opts.logf("WRONG  %s: %s\n", best.Plan, best.Refused)
	default:
		best.StrictRefused = err.Error()
		s.opts.logf("  %s: not compared in strict arithmetic: %v\n", best.Plan, err)
	}
	return nil
}

// prepareRivals waits for the rivals, and compares what they compute with what
// the plain kernels do.
func (s *sweep) prepareRivals() error {
	if len(s.rivals) == 0 {
		return nil
	}
	values, err := s.worker.values(someCells(s.bound, cellsCompared))
	if err != nil {
		return err
	}
	for _, t := range s.rivals {
		known := t.failed != nil
		if t.prepare(values); t.failed != nil && !known {
			s.opts.logf("  %s: %v\n", t.rival.Name, t.failed)
		}
	}
	return nil
}

// results are those of the rivals, timed now or before.
func (s *sweep) results() []RivalBatch {
	var list []RivalBatch
	for _, t := range s.rivals {
		list = append(list, t.result(s.worker.info.Points))
	}
	for _, r := range s.opts.Given {
		if r.Case == s.c.name && r.DType == s.c.dtype && r.Grid == s.worker.info.Grid {
			list = append(list, r)
		}
	}
	return list
}

// copyRate is in GB/s, of the bytes that are read and those that are written.
func (s *sweep) copyRate(times []float64, bytes float64) float64 {
	return 2 * float64(copyBytes(bytes)) / median(times) / 1e9
}

// fastest returns the rows of the fastest plans.
func (s *sweep) fastest(n int) []*SpatialRow {
	var list []*SpatialRow
	for i := range s.rows {
		if s.rows[i].Refused == "" {
			list = append(list, &s.rows[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *SpatialRow) int {
		switch {
		case a.GStencils > b.GStencils:
			return -1
		case a.GStencils < b.GStencils:
			return 1
		}
		return 0
	})
	return list[:min(n, len(list))]
}
