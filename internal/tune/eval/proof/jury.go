package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/device/opencl/oclgrind"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// jury is what judges a sample of the pairs from outside: compilers, drivers
// and checkers that share nothing with the simulator. Whatever is not installed
// is left out, and said.
type jury struct {
	dir     *disk.Folder // of compiled code, thrown away
	clang   *clang
	device  string // PoCL's: "opencl:0"
	missing []string
	judges

	mu    sync.Mutex // drivers are told by the environment what to do
	cache map[string]*toolchain.Cache
}

// methods are the ways in which PoCL makes loops of a block's threads: each
// needs every thread at every barrier.
var methods = []string{"loopvec", replicated}

const (
	replicated   = "workitemrepl"
	oclgrindCode = "oclgrind" // not a method, but what Oclgrind compiles is kept, too
)

func newJury() (*jury, error) {
	j := &jury{cache: map[string]*toolchain.Cache{}}
	var err error
	if j.dir, err = disk.NewFolder("", "gridloom-proof-"); err != nil {
		return nil, err
	}
	for _, m := range append(slices.Clone(methods), oclgrindCode) {
		if j.cache[m], err = toolchain.OpenCache(filepath.Join(j.dir.Path, m)); err != nil {
			j.close()
			return nil, err
		}
	}
	if j.clang, err = findClang(j.dir.Path); err != nil {
		j.missing = append(j.missing, err.Error())
	}
	devices, err := opencl.Devices()
	if at := slices.IndexFunc(devices, isPoCL); at >= 0 {
		j.device, j.judges.pocl = opencl.ID(devices[at].Ordinal), j.onPoCL
	} else {
		j.missing = append(j.missing, fmt.Sprintf("PoCL: %v", cmp.Or(err, errors.New("no OpenCL platform is called so"))))
	}
	if _, err := oclgrind.Find(); err != nil {
		j.missing = append(j.missing, err.Error())
	} else {
		j.judges.check, j.judges.oclgrind = j.checkKernels, j.onOclgrind
	}
	return j, nil
}

func isPoCL(p opencl.Properties) bool { return p.Platform == "Portable Computing Language" }

func (j *jury) close() {
	for _, m := range append(slices.Clone(methods), oclgrindCode) {
		if c := j.cache[m]; c != nil {
			c.Close()
		}
	}
	j.dir.Remove()
}

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
	if p.opencl { // it says some things in other words
		_, o.Lacks = emit.OpenCL.On(nil)
		if other, err := lower.Program(s.bound.Program, o); err == nil {
			m = other
		}
	}
	if !p.opencl || slices.ContainsFunc(m.Kernels, func(k *kernel.Kernel) bool { return emit.OpenCL.Lacks(k) != nil }) {
		return ""
	}
	want, err := p.expect(ctx, s.bound)
	if err != nil {
		return err.Error()
	}
	return j.judges.weigh(ctx, &hearing{p, s, m, want}, small, v)
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
