package learning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// HeldOut makes models of kernels that were recorded, each without those of a part that a split leaves out. A model is
// made when it is first asked for.
type HeldOut struct {
	All      []*predict.Examples
	Folder   string   // where models are kept for other runs; "" keeps none
	Wanted   []string // names of the splits that are wanted; nil for all
	stencils map[string]int
	partOf   map[string]map[*predict.Examples]string // by split
	models   map[string]*heldOut                     // by split and part, and by what they were learned from
	mutex    sync.Mutex
	scale    *predict.Model // gives the units that programs' distances are counted in

	// ranking ranks the candidates of kernels in tests; nil ranks all there are.
	ranking func(m *predict.Model, e *predict.Examples) []predict.Ranked
}

type heldOut struct {
	once  sync.Once
	model *predict.Model
	err   error
}

// NewHeldOut describes the kernels of which candidates were recorded that all kernels share; others are left out.
func NewHeldOut(list []*predict.Recorded) *HeldOut {
	h := &HeldOut{stencils: map[string]int{}}
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

// On reports whether some kernels were recorded on a device of this name.
func (h *HeldOut) On(device string) bool {
	return slices.ContainsFunc(h.All, func(e *predict.Examples) bool { return e.DeviceName == device })
}

// part returns the part of a split that a kernel belongs to.
func (h *HeldOut) part(e *predict.Examples, s Split) string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	known := h.partOf[s.Name]
	if known == nil {
		if known = map[*predict.Examples]string{}; h.partOf == nil {
			h.partOf = map[string]map[*predict.Examples]string{}
		}
		h.partOf[s.Name] = known
	}
	p, ok := known[e]
	if !ok {
		p = s.part(e, h.stencils)
		known[e] = p
	}
	return p
}

// Without returns a model that has learned from all kernels but those of the part that a kernel belongs to.
func (h *HeldOut) Without(ctx context.Context, e *predict.Examples, s Split) (*predict.Model, error) {
	part := h.part(e, s)
	return h.once(s.Name+" "+part, func() (*predict.Model, error) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		others, err := h.others(s, part)
		if err != nil {
			return nil, err
		}
		return h.Learn(others)
	})
}

// BothWithout is Without, with both levels, and with the programs that were learned from: it chooses as models do that
// come with Gridloom.
func (h *HeldOut) BothWithout(ctx context.Context, e *predict.Examples, s Split) (*predict.Model, error) {
	part := h.part(e, s)
	return h.once("both levels "+s.Name+" "+part, func() (*predict.Model, error) {
		others, err := h.others(s, part)
		if err != nil {
			return nil, err
		}
		m, err := h.LearnBoth(ctx, others)
		if err != nil {
			return nil, err
		}
		return withPrograms(m, others), nil
	})
}

// withPrograms returns a model that knows the programs that it has learned from. The one that is given may be that of
// another part, too, and stays as it is.
func withPrograms(m *predict.Model, others []*predict.Examples) *predict.Model {
	whole := *m
	whole.SetPrograms(others)
	return &whole
}

// splits returns those of Splits that are wanted, leave kernels out, and others to learn from; the first in any case.
func (h *HeldOut) splits() []Split {
	var list []Split
	for i, s := range Splits {
		if !h.wants(s) {
			continue
		}
		parts := h.parts(s)
		if i == 0 || len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool {
			_, err := h.others(s, part)
			return err != nil
		}) {
			list = append(list, s)
		}
	}
	return list
}

// wants reports whether a split is wanted.
func (h *HeldOut) wants(s Split) bool { return h.Wanted == nil || slices.Contains(h.Wanted, s.Name) }

// parts returns the parts of a split that are left out, in the order of their kernels.
func (h *HeldOut) parts(s Split) []string {
	var list []string
	for _, e := range h.All {
		if p := h.part(e, s); p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// judged returns the kernels that a split leaves out.
func (h *HeldOut) judged(s Split) []*predict.Examples {
	return slices.DeleteFunc(slices.Clone(h.All), func(e *predict.Examples) bool { return h.part(e, s) == "" })
}

// of returns the kernels of a part.
func (h *HeldOut) of(s Split, part string) []*predict.Examples {
	return slices.DeleteFunc(slices.Clone(h.All), func(e *predict.Examples) bool { return h.part(e, s) != part })
}

// others returns all kernels but those of a part, those that have a stencil of it, and those that are left out with it.
func (h *HeldOut) others(s Split, part string) ([]*predict.Examples, error) {
	of := h.of(s, part)
	left := map[string]bool{}
	for _, e := range of {
		left[e.Stencil] = true
	}
	list := slices.DeleteFunc(slices.Clone(h.All), func(o *predict.Examples) bool {
		return left[o.Stencil] || s.alike != nil && s.alike(o, of[0])
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("all kernels are of one %s: nothing is left to learn from without it", noun(s.Name))
	}
	return list, nil
}

// distance is how far a kernel's program is from the nearest that is learned from without its part, in the units of all
// programs; infinite if there is none.
func (h *HeldOut) distance(e *predict.Examples, s Split) float64 {
	h.mutex.Lock()
	if h.scale == nil {
		h.scale = &predict.Model{}
		h.scale.SetPrograms(h.All)
	}
	h.mutex.Unlock()
	return h.distanceBy(h.scale, e, s)
}

// distanceBy is the distance in the units of a model.
func (h *HeldOut) distanceBy(m *predict.Model, e *predict.Examples, s Split) float64 {
	others, err := h.others(s, h.part(e, s))
	if err != nil {
		return math.Inf(1)
	}
	return m.DistanceTo(e, others)
}

// once makes a model, unless it was made before.
func (h *HeldOut) once(key string, learn func() (*predict.Model, error)) (*predict.Model, error) {
	h.mutex.Lock()
	if h.models == nil {
		h.models = map[string]*heldOut{}
	}
	m := h.models[key]
	if m == nil {
		m = &heldOut{}
		h.models[key] = m
	}
	h.mutex.Unlock()
	m.once.Do(func() { m.model, m.err = learn() })
	return m.model, m.err
}

// Learn returns the model of some kernels, of the first level. It is made once.
func (h *HeldOut) Learn(list []*predict.Examples) (*predict.Model, error) {
	return h.kept(predict.Digest(list), func() (*predict.Model, error) { return predict.Learn(list) })
}

// LearnBoth returns the model of some kernels, of both levels, with what it knows of registers. It is made once.
func (h *HeldOut) LearnBoth(ctx context.Context, list []*predict.Examples) (*predict.Model, error) {
	return h.kept(predict.DigestOfBoth(list), func() (*predict.Model, error) {
		first, err := h.Learn(list)
		if err != nil {
			return nil, err
		}
		m := *first
		return &m, m.LearnRest(ctx, list, func() {})
	})
}

// kept returns the model of a digest, made once: it is that of the folder if it is there.
func (h *HeldOut) kept(digest string, learn func() (*predict.Model, error)) (*predict.Model, error) {
	return h.once(digest, func() (*predict.Model, error) {
		if h.Folder == "" {
			return learn()
		}
		path := filepath.Join(h.Folder, digest[:keptDigits]+".json.gz")
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			m, err := learn()
			if err != nil {
				return nil, err
			}
			return m, gridio.WriteFile(path, m.WriteTrees)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		m, err := predict.ReadTrees(f)
		if err != nil {
			return nil, &gridio.Error{Path: path, Text: err.Error(), Hint: "remove it, and it is made anew"}
		}
		return m, nil
	})
}

// rank returns the candidates of a kernel, the fastest by the first level of a model first.
func (h *HeldOut) rank(m *predict.Model, e *predict.Examples) []predict.Ranked {
	if h.ranking != nil {
		return h.ranking(m, e)
	}
	return m.Rank(e.Kernel)
}

// rankBoth returns the candidates of a kernel as plans are taken from them, by the model that was made without its
// part.
func (h *HeldOut) rankBoth(ctx context.Context, e *predict.Examples, s Split) ([]predict.Ranked, error) {
	if h.ranking != nil {
		m, err := h.Without(ctx, e, s)
		if err != nil {
			return nil, err
		}
		return h.ranking(m, e), nil
	}
	m, err := h.BothWithout(ctx, e, s)
	if err != nil {
		return nil, err
	}
	return m.Chosen(ctx, e.Kernel)
}

// keptDigits are those of a hash that name the file of a model.
const keptDigits = 16

// Prepare makes the models of all splits that some kernels need, side by side: by Without, or BothWithout. log is told
// how many there are.
func (h *HeldOut) Prepare(ctx context.Context, list []*predict.Examples,
	without func(context.Context, *predict.Examples, Split) (*predict.Model, error), log io.Writer) error {
	type part struct {
		of    *predict.Examples // a kernel of it
		split Split
	}
	var parts []part
	for _, s := range h.splits() {
		seen := map[string]bool{"": true} // never left out
		for _, e := range list {
			if name := h.part(e, s); !seen[name] {
				seen[name] = true
				parts = append(parts, part{e, s})
			}
		}
	}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	var mutex sync.Mutex
	made := 0
	for _, p := range parts {
		work.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if _, err := without(ctx, p.of, p.split); err != nil {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			made++
			fmt.Fprintf(log, "%d of %d models are there\n", made, len(parts))
			return nil
		})
	}
	return work.Wait()
}
