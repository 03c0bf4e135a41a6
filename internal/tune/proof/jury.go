package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/device/opencl/oclgrind"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// jury is what judges a sample of the pairs from outside: compilers, drivers
// and checkers that share nothing with the simulator. Whatever is not installed
// is left out, and said.
type jury struct {
	dir     string // of compiled code, thrown away
	clang   *clang
	pocl    *opencl.Properties
	checked bool // by Oclgrind
	missing []string

	mu    sync.Mutex // PoCL is told by the environment what to do
	cache map[string]*toolchain.Cache
}

// methods are the ways in which PoCL makes loops of a block's threads: each
// needs every thread at every barrier.
var methods = []string{vectorised, "workitemrepl"}

const (
	vectorised = "loopvec"
	// unvectorised is the first without vectors.
	unvectorised = "loops"
)

func newJury() (*jury, error) {
	j := &jury{cache: map[string]*toolchain.Cache{}}
	var err error
	if j.dir, err = os.MkdirTemp("", "gridloom-proof-"); err != nil {
		return nil, err
	}
	for _, m := range append(slices.Clone(methods), unvectorised) {
		if j.cache[m], err = toolchain.OpenCache(filepath.Join(j.dir, m)); err != nil {
			j.close()
			return nil, err
		}
	}
	if j.clang, err = findClang(j.dir); err != nil {
		j.missing = append(j.missing, err.Error())
	}
	devices, err := opencl.Devices()
	if at := slices.IndexFunc(devices, isPoCL); at >= 0 {
		j.pocl = &devices[at]
	} else {
		j.missing = append(j.missing, fmt.Sprintf("PoCL: %v", cmp.Or(err, errors.New("no OpenCL platform is called so"))))
	}
	if _, err := oclgrind.Find(); err != nil {
		j.missing = append(j.missing, err.Error())
	} else {
		j.checked = true
	}
	return j, nil
}

func isPoCL(p opencl.Properties) bool { return p.Platform == "Portable Computing Language" }

func (j *jury) close() {
	for _, m := range append(slices.Clone(methods), unvectorised) {
		if c := j.cache[m]; c != nil {
			c.Close()
		}
	}
	os.RemoveAll(j.dir)
}

const oclgrindLimit = 2 * time.Minute // for a kernel

// judge asks everybody about a pair at some sizes, and returns what they find
// wrong; "" for nothing. Oclgrind, which is slow, is asked at small ones.
func (j *jury) judge(ctx context.Context, p *pair, s sizes, small bool, v *verdict) string {
	o := p.lowering(s.bound)
	o.Plan, o.NoInitial = begun(p.plan, s.bound.Program), true
	m, err := lower.Program(s.bound.Program, o)
	if excessive(err) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if j.clang != nil && small {
		if err := j.clang.compile(ctx, emit.Source(emit.CUDA, m)); err != nil {
			return err.Error()
		}
		v.clang += len(m.Kernels)
	}
	if !p.opencl || slices.ContainsFunc(m.Kernels, func(k *kernel.Kernel) bool { return emit.OpenCL.Lacks(k) != nil }) {
		return ""
	}
	if j.checked && small {
		if err := oclgrind.CheckModule(ctx, m, s.bound, p.seed, oclgrindLimit); err != nil {
			return fmt.Sprintf("Oclgrind: %v", err)
		}
		v.oclgrind++
	}
	if j.pocl == nil {
		return ""
	}
	want, err := p.expect(ctx, s.bound)
	if err != nil {
		return err.Error()
	}
	for _, method := range methods {
		if method == "workitemrepl" && p.threads()*int64(len(moduleText(m))) > mostReplicated {
			continue
		}
		fits, reason, err := j.onPoCL(ctx, method, m, p, s, want)
		if crashed(err) && method == vectorised {
			// PoCL compiles for a block's size in the process that runs, when a
			// kernel is first launched. A kernel that is at fault is so without
			// vectors, too.
			v.crashes = append(v.crashes, Crash{p.seed, err.Error()})
			method = unvectorised
			fits, reason, err = j.onPoCL(ctx, method, m, p, s, want)
		}
		if err != nil && strings.Contains(err.Error(), tookLonger) {
			v.slow++
			continue
		}
		if err != nil {
			reason = err.Error()
		}
		if reason != "" {
			return fmt.Sprintf("PoCL, %s: %s", method, reason)
		}
		if fits {
			v.pocl++
		}
	}
	return ""
}

// crashed reports whether a signal ended the process that ran a module.
func crashed(err error) bool {
	var death *worker.Death
	return errors.As(err, &death) && death.Signal != 0 && death.Reason == nil
}

// mostReplicated bounds the code that PoCL makes for every thread on its own:
// characters of kernels, by threads of a block.
const mostReplicated = 2_500_000

// threads returns the most threads of a block that a pair's kernels have.
func (p *pair) threads() int64 {
	n := int64(1)
	for _, k := range p.plan.Kernels {
		n = max(n, threadsOf(k.Config))
	}
	return n
}

// onPoCL runs a module on PoCL.
func (j *jury) onPoCL(ctx context.Context, method string, m *kernel.Module, p *pair, s sizes, want *expected) (fits bool, reason string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range [][2]string{
		{"POCL_WORK_GROUP_METHOD", method},
		// PoCL keeps what it has compiled, and here it should not.
		{"POCL_CACHE_DIR", filepath.Join(j.dir, method, "pocl")},
	} {
		old, was := os.LookupEnv(e[0])
		os.Setenv(e[0], e[1])
		if was {
			defer os.Setenv(e[0], old)
		} else {
			defer os.Unsetenv(e[0])
		}
	}
	bed := &openclBed{of: *j.pocl, cache: j.cache[method]}
	return runOn(ctx, bed, m, s.bound, p.arithmetic(), want, 0)
}

// arithmetic returns the mode that a pair is compiled in.
func (p *pair) arithmetic() toolchain.Arithmetic {
	switch {
	case p.strict:
		return toolchain.Strict
	case p.fast:
		return toolchain.Fast
	}
	return toolchain.Contract
}

// bounds returns what the reference executor says of results in that mode.
func (p *pair) bounds() interp.Mode {
	switch {
	case p.strict:
		return interp.NoBounds
	case p.fast:
		return interp.Fast
	}
	return interp.Contract
}
