package learning

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// HeldOut makes models of kernels that were recorded, each without those of a part that a split leaves out. A model is
// made when it is first asked for.
type HeldOut struct {
	All      []*predict.Examples
	stencils map[string]int
	models   map[string]*heldOut // by split and part
	mutex    sync.Mutex
}

type heldOut struct {
	once  sync.Once
	model *predict.Model
	err   error
}

// NewHeldOut describes the kernels of which candidates were recorded that all kernels share; others are left out.
func NewHeldOut(list []*predict.Recorded) *HeldOut {
	h := &HeldOut{stencils: map[string]int{}, models: map[string]*heldOut{}}
	for _, r := range list {
		e := predict.Describe(r)
		if !slices.Contains(e.Drawn, true) {
			continue
		}
		h.All = append(h.All, e)
		if _, ok := h.stencils[e.Stencil]; !ok {
			h.stencils[e.Stencil] = len(h.stencils)
		}
	}
	return h
}

// part returns the part of a split that a kernel belongs to.
func (h *HeldOut) part(e *predict.Examples, s Split) string { return s.part(e, h.stencils) }

// Without returns a model that has learned from all kernels but those of the part that a kernel belongs to.
func (h *HeldOut) Without(ctx context.Context, e *predict.Examples, s Split) (*predict.Model, error) {
	part := h.part(e, s)
	h.mutex.Lock()
	key := s.Name + " " + part
	m := h.models[key]
	if m == nil {
		m = &heldOut{}
		h.models[key] = m
	}
	h.mutex.Unlock()
	m.once.Do(func() {
		if m.err = context.Cause(ctx); m.err != nil {
			return
		}
		others := slices.DeleteFunc(slices.Clone(h.All), func(o *predict.Examples) bool { return h.part(o, s) == part })
		if len(others) == 0 {
			m.err = fmt.Errorf("all kernels are of one %s: nothing is left to learn from without it", s.Name)
			return
		}
		m.model, m.err = predict.Learn(others)
	})
	return m.model, m.err
}

// Prepare makes the models of all splits that some kernels need, side by side.
func (h *HeldOut) Prepare(ctx context.Context, list []*predict.Examples) error {
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range Splits {
		for _, e := range list {
			work.Go(func() error {
				_, err := h.Without(ctx, e, s)
				return err
			})
		}
	}
	return work.Wait()
}
