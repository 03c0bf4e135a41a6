package cuda

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
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/toolchain/pool"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Compilers compile for a GPU in worker processes, which hold none: NVRTC gains little
// from several threads of one process, hangs on some sources and takes all memory on
// others. What was compiled once is kept on disk, under a name that is the digest of all
// that it depends on.
type Compilers struct {
	opts     device.CompilerOptions
	compiler *Compiler
	arch     int   // compute capability, 90 for 9.0
	bound    int64 // bytes that the cache may take

	workers *pool.Pool
	mutex   sync.Mutex
	fresh   int // codes since the cache was trimmed
}

// OpenCompilers finds NVRTC. Workers are started when they are needed. A source may
// take a minute and 4 GiB unless the options say otherwise, and the cache 2 GiB.
func OpenCompilers(o device.CompilerOptions, arch int) (*Compilers, error) {
	compiler, err := FindCompiler()
	if err != nil {
		return nil, err
	}
	o.Workers, o.Limit = cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), cmp.Or(o.Limit, time.Minute)
	o.Memory = cmp.Or(o.Memory, 4<<30)
	workers := pool.New(CompileService.Name, o.Workers, o.Limit,
		worker.Options{Env: []string{fmt.Sprintf("%s=%d", memoryEnv, o.Memory)}, Memory: o.Memory})
	return &Compilers{opts: o, compiler: compiler, arch: arch, bound: 2 << 30, workers: workers}, nil
}

// Version implements device.Compiler.
func (p *Compilers) Version() string { return "NVRTC " + p.compiler.Version }

// Options implements device.Compiler.
func (p *Compilers) Options(a arith.Mode) []string {
	list, err := p.compiler.Options(nil, p.arch, a)
	if err != nil {
		return nil // and then nothing is compiled
	}
	return list
}

// Fused implements device.Compiler.
func (p *Compilers) Fused() bool { return true }

// Workers implements device.Compiler.
func (p *Compilers) Workers() int { return p.workers.Workers() }

// Close ends the workers, which must have nothing left to do.
func (p *Compilers) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fresh > 0 {
		p.opts.Cache.Trim(p.bound) // what cannot be removed now will be another time
	}
	p.workers.Close()
}

// Compile implements device.Compiler. The reason of an error is verdict.Transient if
// the machine has kept NVRTC from the source. When ctx ends, its cause is the error.
func (p *Compilers) Compile(ctx context.Context, s device.Source) (device.Binary, error) {
	text := []byte(s.Text)
	options, err := p.compiler.Options(text, p.arch, s.Arithmetic, Verbose)
	if err != nil {
		return device.Binary{}, err
	}
	key := toolchain.Digest(append([]string{"cuda", s.Text, p.compiler.Version, p.compiler.Release}, options...)...)
	if image, ok := p.kept(key); ok {
		return image, nil
	}
	if err := p.workers.Enter(ctx); err != nil {
		return device.Binary{}, err
	}
	defer p.workers.Leave()
	var a answer
	err = p.workers.Ask(ctx, request{Text: text, Options: options}, &a)
	switch {
	case err != nil && ctx.Err() != nil:
		return device.Binary{}, context.Cause(ctx)
	case err != nil && !pool.Died(err):
		return device.Binary{}, err
	case err != nil:
		err = fmt.Errorf("NVRTC (%s, %s) did not come to an end with the generated code; it may take %v and %d MiB: %w",
			p.compiler.Path, strings.Join(options, " "), p.opts.Limit, p.opts.Memory>>20, err)
		return device.Binary{}, verdict.For(verdict.Compiler, err)
	case a.Refused != nil:
		return device.Binary{Took: a.Took}, verdict.For(verdict.Compiler, a.Refused)
	case a.Error != "":
		return device.Binary{Took: a.Took}, verdict.For(a.Reason, errors.New(a.Error))
	}
	return p.keep(key, a)
}

// note is what is kept beside the code.
type note struct {
	Log  string        `json:"log"`
	Took time.Duration `json:"took_ns"`
}

func (p *Compilers) kept(key string) (device.Binary, bool) {
	image, ok := p.opts.Cache.Kept(key + codeEnding)
	if !ok {
		return device.Binary{}, false
	}
	var n note
	if path, ok := p.opts.Cache.Kept(key + noteEnding); !ok {
		return device.Binary{}, false
	} else if text, err := toolchain.Read(path); err != nil || json.Unmarshal(text, &n) != nil {
		return device.Binary{}, false
	}
	return device.Binary{Path: image, Cached: true, Kernels: Reports(n.Log), Took: n.Took}, true
}

const (
	codeEnding = ".cubin"
	noteEnding = ".cubin.json"
)

func (p *Compilers) keep(key string, a answer) (device.Binary, error) {
	image := device.Binary{Kernels: Reports(a.Log), Took: a.Took}
	text, err := json.Marshal(note{a.Log, a.Took})
	if err == nil {
		_, err = p.opts.Cache.Keep(key+noteEnding, text)
	}
	if err == nil {
		image.Path, err = p.opts.Cache.Keep(key+codeEnding, a.Code)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fresh++; p.fresh >= trimEvery {
		p.fresh = 0
		p.opts.Cache.Trim(p.bound)
	}
	return image, err
}

// trimEvery is after how many codes the cache is looked through.
const trimEvery = 500
