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

// crossCheckers check a sample of the pairs with compilers, drivers and checkers that share nothing with the
// simulator. What is not installed is left out, and listed as missing.
type crossCheckers struct {
	dir     *disk.Folder // of compiled code, removed at the end
	clang   *clang
	device  string // of PoCL: "opencl:0"
	missing []string
	judgeSet

	mu    sync.Mutex // drivers are configured by the environment
	cache map[string]*toolchain.Cache
}

// methods are PoCL's ways to make loops of a block's threads. Each needs every thread at every barrier.
var methods = []string{"loopvec", replicated}

const (
	replicated   = "workitemrepl"
	oclgrindCode = "oclgrind" // not a method; names the cache of code that Oclgrind compiles
)

func newCrossCheckers() (*crossCheckers, error) {
	cc := &crossCheckers{cache: map[string]*toolchain.Cache{}}
	var err error
	if cc.dir, err = disk.NewFolder("", "gridloom-proof-"); err != nil {
		return nil, err
	}
	for _, m := range append(slices.Clone(methods), oclgrindCode) {
		if cc.cache[m], err = toolchain.OpenCache(filepath.Join(cc.dir.Path, m)); err != nil {
			cc.close()
			return nil, err
		}
	}
	if cc.clang, err = findClang(cc.dir.Path); err != nil {
		cc.missing = append(cc.missing, err.Error())
	}
	devices, err := opencl.Devices()
	if at := slices.IndexFunc(devices, isPoCL); at >= 0 {
		cc.device, cc.judgeSet.pocl = opencl.ID(devices[at].Ordinal), cc.onPoCL
	} else {
		cc.missing = append(cc.missing, fmt.Sprintf("PoCL: %v",
			cmp.Or(err, errors.New("no OpenCL platform is called so"))))
	}
	if _, err := oclgrind.Find(); err != nil {
		cc.missing = append(cc.missing, err.Error())
	} else {
		cc.judgeSet.check, cc.judgeSet.oclgrind = cc.checkKernels, cc.onOclgrind
	}
	return cc, nil
}

func isPoCL(p opencl.Properties) bool { return p.Platform == "Portable Computing Language" }

func (cc *crossCheckers) close() {
	for _, m := range append(slices.Clone(methods), oclgrindCode) {
		if c := cc.cache[m]; c != nil {
			c.Close()
		}
	}
	cc.dir.Remove()
}

// check runs a pair at some sizes under all checkers, and returns what is wrong. Oclgrind, which is slow, runs at
// small sizes.
func (cc *crossCheckers) check(ctx context.Context, p *pair, s sizes, small bool, v *pairResult) finding {
	o := p.lowering(s.bound)
	o.Plan, o.NoInitial = withoutInitial(p.plan, s.bound.Program), true
	m, err := lower.Program(s.bound.Program, o)
	if exceedsResources(err) {
		return finding{}
	}
	if err != nil {
		return finding{said: err.Error()}
	}
	if cc.clang != nil && small {
		if err := cc.clang.compile(ctx, emit.Source(emit.CUDA, m)); err != nil {
			return finding{said: err.Error()}
		}
		v.clang += len(m.Kernels)
	}
	if p.opencl { // OpenCL lacks some capabilities
		_, o.Lacks = emit.OpenCL.On(nil)
		if other, err := lower.Program(s.bound.Program, o); err == nil {
			m = other
		}
	}
	if !p.opencl || slices.ContainsFunc(m.Kernels, func(k *kernel.Kernel) bool { return emit.OpenCL.Lacks(k) != nil }) {
		return finding{}
	}
	want, err := p.expect(ctx, s.bound)
	if err != nil {
		return finding{said: err.Error()}
	}
	return cc.judgeSet.judge(ctx, &judgedRun{p, s, m, want}, small, v)
}

// mostReplicated bounds the code that PoCL makes for each thread: characters of kernels times threads of a
// block.
const mostReplicated = 2_500_000

// threads returns the most threads of a block that a pair's kernels have.
func (p *pair) threads() int64 {
	n := int64(1)
	for _, k := range p.plan.Kernels {
		n = max(n, threadsOf(k.Config))
	}
	return n
}
