package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/sharedlib"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Compiler is NVRTC.
type Compiler struct {
	Path    string
	Version string // "13.0"
	Release string // tells releases of one version apart, as far as their files do
	archs   []int  // that it compiles for, ascending
	api     nvrtc
}

// nvrtc is the functions used here. They return an nvrtcResult.
type nvrtc struct {
	Version     func(major, minor *int32) int32                                                        `symbol:"nvrtcVersion"`
	ErrorString func(code int32) string                                                                `symbol:"nvrtcGetErrorString"`
	ArchCount   func(n *int32) int32                                                                   `symbol:"nvrtcGetNumSupportedArchs"`
	Archs       func(list *int32) int32                                                                `symbol:"nvrtcGetSupportedArchs"`
	Create      func(p *handle, text *byte, name string, headers int32, contents, names uintptr) int32 `symbol:"nvrtcCreateProgram"`
	Destroy     func(p *handle) int32                                                                  `symbol:"nvrtcDestroyProgram"`
	Compile     func(p handle, count int32, options **byte) int32                                      `symbol:"nvrtcCompileProgram"`
	LogSize     func(p handle, n *uint64) int32                                                        `symbol:"nvrtcGetProgramLogSize"`
	Log         func(p handle, text *byte) int32                                                       `symbol:"nvrtcGetProgramLog"`
	CubinSize   func(p handle, n *uint64) int32                                                        `symbol:"nvrtcGetCUBINSize"`
	Cubin       func(p handle, code *byte) int32                                                       `symbol:"nvrtcGetCUBIN"`
	PTXSize     func(p handle, n *uint64) int32                                                        `symbol:"nvrtcGetPTXSize"`
	PTX         func(p handle, code *byte) int32                                                       `symbol:"nvrtcGetPTX"`
}

// compilerPlace looks where NVIDIA's packages and Python's wheels put NVRTC.
func compilerPlace() sharedlib.Place {
	p := sharedlib.Place{
		Env:   "GRIDLOOM_NVRTC",
		Names: []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
	}
	for _, env := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := os.Getenv(env); dir != "" {
			p.Folders = append(p.Folders, filepath.Join(dir, "lib64"), filepath.Join(dir, "lib"))
		}
	}
	p.Folders = append(p.Folders, "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/cuda/targets/*/lib",
		"/opt/cuda/lib64")
	p.Folders = append(p.Folders, sharedlib.Beside("nvcc", "../lib64", "../targets/*/lib")...)
	p.Folders = append(p.Folders, sharedlib.Beside("python3", "../lib/python3*/site-packages/nvidia/*/lib")...)
	return p
}

// FindCompiler returns NVRTC.
var FindCompiler = sync.OnceValues(findCompiler)

func findCompiler() (*Compiler, error) {
	library, path, err := compilerPlace().Open()
	if err != nil {
		return nil, fmt.Errorf(
			"NVRTC, the CUDA compiler, was not found: %w (install the CUDA toolkit, or with pip: nvidia-cuda-nvrtc; "+
				"or name the library with GRIDLOOM_NVRTC)", err)
	}
	c := &Compiler{Path: path, Release: release(path)}
	if err := sharedlib.Bind(library, &c.api); err != nil {
		return nil, fmt.Errorf("NVRTC cannot be used: %s: %w", path, err)
	}
	openBuiltins(path)
	var major, minor, count int32
	if r := c.api.Version(&major, &minor); r != 0 {
		return nil, c.fail(r, "nvrtcVersion")
	}
	c.Version = fmt.Sprintf("%d.%d", major, minor)
	if r := c.api.ArchCount(&count); r != 0 {
		return nil, c.fail(r, "nvrtcGetNumSupportedArchs")
	}
	list := make([]int32, max(1, count))
	if r := c.api.Archs(&list[0]); r != 0 {
		return nil, c.fail(r, "nvrtcGetSupportedArchs")
	}
	for _, a := range list[:count] {
		c.archs = append(c.archs, int(a))
	}
	slices.Sort(c.archs)
	if len(c.archs) == 0 {
		return nil, fmt.Errorf("NVRTC cannot be used: %s compiles for no GPU", path)
	}
	return c, nil
}

// release describes the file of a library that was opened: its full name,
// which holds the release, and its size.
func release(path string) string {
	if !filepath.IsAbs(path) {
		path = mapped(path)
	}
	if path == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s, %d bytes", filepath.Base(real), info.Size())
}

// mapped returns where the system's loader has found a library.
func mapped(name string) string {
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if at := strings.IndexByte(line, '/'); at >= 0 {
			if path := strings.TrimSuffix(line[at:], "\n"); strings.HasPrefix(filepath.Base(path), name) {
				return path
			}
		}
	}
	return ""
}

// openBuiltins opens the library that NVRTC will ask for by its name alone, in
// the folder where NVRTC was found.
func openBuiltins(path string) {
	if !filepath.IsAbs(path) {
		return // the system's loader finds both
	}
	list, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "libnvrtc-builtins.so*"))
	for _, name := range list {
		if _, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			return
		}
	}
}

// fail returns the error for an nvrtcResult.
func (c *Compiler) fail(r int32, call string) error {
	err := fmt.Errorf("NVRTC %s failed: %s: %s (%d)", c.Path, call, c.api.ErrorString(r), r)
	const builtins = 7
	if r == builtins {
		err = fmt.Errorf("%w; libnvrtc-builtins of the same version has to lie beside it", err)
	}
	return err
}

// target returns the option that names a GPU: its own architecture, or the
// newest that NVRTC knows, in the portable form, for a GPU that is newer.
func (c *Compiler) target(arch int) (string, error) {
	newest := c.archs[len(c.archs)-1]
	switch {
	case slices.Contains(c.archs, arch):
		return fmt.Sprintf("--gpu-architecture=sm_%d", arch), nil
	case arch > newest:
		return fmt.Sprintf("--gpu-architecture=compute_%d", newest), nil
	}
	return "", fmt.Errorf(
		"NVRTC %s (%s) does not compile for compute capability %d.%d: it does for %d.%d and newer; name an older one "+
			"with GRIDLOOM_NVRTC",
		c.Version, c.Path, arch/10, arch%10, c.archs[0]/10, c.archs[0]%10)
}

// options are the compiler's options for a mode of arithmetic. Without any,
// NVRTC divides and takes roots with correct rounding, keeps denormals and
// contracts. It has no option for reassociation alone, and what it calls fast
// math drops accuracy that the mode fast keeps, so that fast lets it contract
// and no more.
func options(a arith.Mode) []string {
	list := []string{"--std=c++17"}
	if a.Exact() {
		list = append(list, "--fmad=false") // the program says what is fused
	}
	return list
}

// CompileError is the refusal of a source by NVRTC.
type CompileError struct {
	Compiler string
	Options  []string
	Log      string
	Source   string // where the source was left; "" if it could not be
}

// Error prints the compiler's first complaints and where to look further.
func (e *CompileError) Error() string {
	s := fmt.Sprintf("NVRTC (%s, %s) could not compile the generated code", e.Compiler, strings.Join(e.Options, " "))
	if e.Source != "" {
		s += ", which is left in " + e.Source
	}
	s += ":"
	lines := strings.Split(strings.TrimSpace(e.Log), "\n")
	const most = 12
	for i, line := range lines {
		if i == most {
			return s + fmt.Sprintf("\n  ... and %d more lines", len(lines)-most)
		}
		s += "\n  " + line
	}
	return s
}

// Code is what the compiler has made of a source.
type Code struct {
	Bytes []byte
	Log   string // what it said besides
}

// Options returns the options that compile a source for GPUs of a compute
// capability, and extra ones after them.
func (c *Compiler) Options(source []byte, arch int, a arith.Mode, extra ...string) ([]string, error) {
	target, err := c.target(arch)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(source, []byte("multicast::cluster")) && target == "--gpu-architecture=sm_90" {
		target += "a" // without the features that later GPUs lack, multicast is slow
	}
	list := append([]string{target}, options(a)...)
	if !bytes.Contains(source, []byte("cudaTextureObject_t")) {
		list = append(list, minimal)
	}
	return append(list, extra...), nil
}

// minimal is the option that leaves out of the language what generated code has
// no use for but where it reads images. From 12.8 on it saves a fifth of the time
// that small sources take.
const minimal = "--minimal"

// Verbose is the option that makes the log tell what kernels take, as Reports
// reads it.
const Verbose = "--ptxas-options=-v"

// NoCache is the option that makes NVRTC compile what it has compiled before,
// for measuring how long that takes; from 12.9 on it keeps code by itself.
const NoCache = "--no-cache"

// Compile turns CUDA C++ into code for GPUs of a compute capability. A source
// that does not compile is left where the user can look at it.
func (c *Compiler) Compile(source []byte, arch int, a arith.Mode) ([]byte, error) {
	opts, err := c.Options(source, arch, a)
	if err != nil {
		return nil, err
	}
	code, err := c.CompileWith(source, opts)
	if refused, ok := errors.AsType[*CompileError](err); ok {
		refused.Leave(source)
	}
	return code.Bytes, err
}

// CompileWith compiles with those options.
func (c *Compiler) CompileWith(source []byte, opts []string) (Code, error) {
	text, err := unix.BytePtrFromString(string(source))
	if err != nil {
		return Code{}, fmt.Errorf("the generated code cannot be compiled: %w", err)
	}
	var program handle
	if r := c.api.Create(&program, text, "kernels.cu", 0, 0, 0); r != 0 {
		return Code{}, c.fail(r, "nvrtcCreateProgram")
	}
	defer c.api.Destroy(&program)
	if r := c.compile(program, opts); r != 0 {
		log := c.log(program)
		const invalidOption, compilation = 5, 6
		// Some versions do not know them; the code is the same without.
		for _, o := range []string{minimal, NoCache, Verbose} {
			if i := slices.Index(opts, o); i >= 0 && r == invalidOption {
				return c.CompileWith(source, slices.Delete(slices.Clone(opts), i, i+1))
			}
		}
		if r != compilation || log == "" {
			return Code{}, fmt.Errorf("%w (options %s): %s", c.fail(r, "nvrtcCompileProgram"), strings.Join(opts, " "),
				log)
		}
		return Code{}, &CompileError{Compiler: c.Path, Options: opts, Log: log}
	}
	code := Code{Log: c.log(program)}
	if slices.ContainsFunc(opts, func(o string) bool { return strings.Contains(o, "=compute_") }) {
		code.Bytes, err = c.code("nvrtcGetPTX", program, c.api.PTXSize, c.api.PTX)
	} else {
		code.Bytes, err = c.code("nvrtcGetCUBIN", program, c.api.CubinSize, c.api.Cubin)
	}
	return code, err
}

func (c *Compiler) compile(program handle, opts []string) int32 {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	list := make([]*byte, len(opts))
	for i, o := range opts {
		list[i], _ = unix.BytePtrFromString(o) // options hold no zeros
		pinner.Pin(list[i])
	}
	return c.api.Compile(program, int32(len(list)), &list[0])
}

// code fetches what was compiled.
func (c *Compiler) code(call string, program handle, size func(handle, *uint64) int32,
	get func(handle, *byte) int32) ([]byte, error) {
	var n uint64
	if r := size(program, &n); r != 0 {
		return nil, c.fail(r, call+"Size")
	}
	if n == 0 {
		return nil, fmt.Errorf("NVRTC %s failed: %s: it has made no code", c.Path, call)
	}
	code := make([]byte, n)
	if r := get(program, &code[0]); r != 0 {
		return nil, c.fail(r, call)
	}
	return code, nil
}

func (c *Compiler) log(program handle) string {
	var n uint64
	if c.api.LogSize(program, &n) != 0 || n < 2 {
		return ""
	}
	text := make([]byte, n)
	if c.api.Log(program, &text[0]) != 0 {
		return ""
	}
	return unix.ByteSliceToString(text)
}

// Leave writes a source that did not compile where the user can look at it.
func (e *CompileError) Leave(source []byte) {
	e.Source = toolchain.Leave(source, ".cu")
}
