// Package pool compiles code for GPUs in worker processes, many at a time. NVRTC
// gains little from several threads of one process, hangs on some sources and
// takes all memory on others; an OpenCL compiler is part of a driver, and some
// crash. What was compiled once is kept on disk, under a name that is the digest
// of all that it depends on. Workers that compile CUDA hold no GPU; those that
// compile OpenCL C have to open the device, and stay open for the next source.
package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Options says how a pool works.
type Options struct {
	Cache    *toolchain.Cache
	Workers  int           // that compile at the same time; 0 is one a processor
	Deadline time.Duration // for one source; 0 is a minute
	Memory   int64         // bytes that a worker may take; 0 is 4 GiB
	Bound    int64         // bytes that the cache may take; 0 is 2 GiB
}

// crew is how many workers there are, and how long one may take for a source.
func (o *Options) crew() (workers int, deadline time.Duration) {
	return cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), cmp.Or(o.Deadline, time.Minute)
}

// Source is something to compile. Besides the compiler, its fields are all that
// the code depends on.
type Source struct {
	Text       []byte
	Arch       int // compute capability, 90 for 9.0
	Arithmetic arith.Mode
	Options    []string // further options of NVRTC
}

// Result is what has become of a source. Exactly one of Image and Err is set.
type Result struct {
	Image   string        // path of the code
	Cached  bool          // it was compiled before
	Log     string        // what the compiler said
	Kernels []cuda.Report // what they take, as far as the compiler tells it
	Took    time.Duration // to compile, now or then
	// Err is of the reason refusal.Compiler if the source is to blame: NVRTC
	// has refused it, or did not come to an end within its limits. It is
	// refusal.Transient if the machine has kept NVRTC from it.
	Err error
}

// Pool compiles. Its methods may be called from any goroutine.
type Pool struct {
	opts     Options
	compiler *cuda.Compiler

	crew  *crew
	mutex sync.Mutex
	fresh int // codes since the cache was trimmed
}

// Open returns a pool. Workers are started when they are needed.
func Open(o Options) (*Pool, error) {
	compiler, err := cuda.FindCompiler()
	if err != nil {
		return nil, err
	}
	o.Workers, o.Deadline = o.crew()
	if o.Memory == 0 {
		o.Memory = 4 << 30
	}
	if o.Bound == 0 {
		o.Bound = 2 << 30
	}
	workers := newCrew(Service.Name, o.Workers, o.Deadline,
		worker.Options{Env: []string{fmt.Sprintf("%s=%d", memoryEnv, o.Memory)}, Memory: o.Memory})
	return &Pool{opts: o, compiler: compiler, crew: workers}, nil
}

// Close ends the workers, which must have nothing left to do.
func (p *Pool) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fresh > 0 {
		p.opts.Cache.Trim(p.opts.Bound) // what cannot be removed now will be another time
	}
	p.crew.close()
}

// Compile compiles sources, several at a time, and returns their results in
// order. When ctx ends, what is not done yet has its cause as an error.
func (p *Pool) Compile(ctx context.Context, sources []Source) []Result {
	results := make([]Result, len(sources))
	first := map[string]int{} // of the sources that are alike
	same := make([]int, len(sources))
	var wait sync.WaitGroup
	for i, s := range sources {
		options, err := p.compiler.Options(s.Text, s.Arch, s.Arithmetic, append([]string{cuda.Verbose}, s.Options...)...)
		if err != nil {
			results[i].Err = err
			same[i] = i
			continue
		}
		key := toolchain.Digest(append([]string{"cuda", string(s.Text), p.compiler.Version, p.compiler.Release}, options...)...)
		if j, ok := first[key]; ok {
			same[i] = j
			continue
		}
		first[key], same[i] = i, i
		wait.Add(1)
		go func() {
			defer wait.Done()
			results[i] = p.one(ctx, key, s.Text, options)
		}()
	}
	wait.Wait()
	for i, j := range same {
		if i != j {
			results[i] = results[j]
			results[i].Cached = results[j].Err == nil
		}
	}
	return results
}

// one compiles a source, or finds what was compiled before.
func (p *Pool) one(ctx context.Context, key string, text []byte, options []string) Result {
	if r, ok := p.kept(key); ok {
		return r
	}
	if err := p.crew.enter(ctx); err != nil {
		return Result{Err: err}
	}
	defer p.crew.leave()
	var a answer
	err := p.crew.ask(ctx, request{Text: text, Options: options}, &a)
	switch {
	case err != nil && ctx.Err() != nil:
		return Result{Err: context.Cause(ctx)}
	case err != nil && !died(err):
		return Result{Err: err}
	case err != nil:
		err = fmt.Errorf("NVRTC (%s, %s) did not come to an end with the generated code; it may take %v and %d MiB: %w",
			p.compiler.Path, strings.Join(options, " "), p.opts.Deadline, p.opts.Memory>>20, err)
		return Result{Err: refusal.For(refusal.Compiler, err)}
	}
	switch {
	case a.Refused != nil:
		return Result{Log: a.Refused.Log, Took: a.Took, Err: refusal.For(refusal.Compiler, a.Refused)}
	case a.Error != "":
		return Result{Took: a.Took, Err: refusal.For(a.Reason, errors.New(a.Error))}
	}
	return p.keep(key, a)
}

// note is what is kept beside the code.
type note struct {
	Log  string        `json:"log"`
	Took time.Duration `json:"took_ns"`
}

func (p *Pool) kept(key string) (Result, bool) {
	image, ok := p.opts.Cache.Kept(key + codeEnding)
	if !ok {
		return Result{}, false
	}
	var n note
	if path, ok := p.opts.Cache.Kept(key + noteEnding); !ok {
		return Result{}, false
	} else if text, err := toolchain.Read(path); err != nil || json.Unmarshal(text, &n) != nil {
		return Result{}, false
	}
	return Result{Image: image, Cached: true, Log: n.Log, Kernels: cuda.Reports(n.Log), Took: n.Took}, true
}

const (
	codeEnding = ".cubin"
	noteEnding = ".cubin.json"
)

func (p *Pool) keep(key string, a answer) Result {
	text, err := json.Marshal(note{a.Log, a.Took})
	if err == nil {
		_, err = p.opts.Cache.Keep(key+noteEnding, text)
	}
	r := Result{Log: a.Log, Kernels: cuda.Reports(a.Log), Took: a.Took, Err: err}
	if err == nil {
		r.Image, r.Err = p.opts.Cache.Keep(key+codeEnding, a.Code)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fresh++; p.fresh >= trimEvery {
		p.fresh = 0
		p.opts.Cache.Trim(p.opts.Bound)
	}
	return r
}

// trimEvery is after how many codes the cache is looked through.
const trimEvery = 500
