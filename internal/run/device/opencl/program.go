package opencl

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// options are the compiler's options for a mode of arithmetic. What OpenCL
// calls unsafe, finite or fast relaxed math drops accuracy, infinities or NaNs
// that every mode keeps, and it has no option for reassociation alone. It has
// none against contraction either: for modes that are exact the source has a pragma.
func (p *Properties) options(a arith.Mode) []string {
	list := []string{"-cl-std=CL1.2"}
	if p.CorrectFloat {
		list = append(list, "-cl-fp32-correctly-rounded-divide-sqrt")
	}
	if a == arith.Fast {
		list = append(list, "-cl-no-signed-zeros")
	}
	if p.Has(verboseExtension) {
		list = append(list, verbose)
	}
	return list
}

const noContraction = "#pragma OPENCL FP_CONTRACT OFF\n"

// source is the text that the compiler gets.
func source(text []byte, a arith.Mode) []byte {
	if a.Exact() {
		return append([]byte(noContraction), text...)
	}
	return text
}

// CompileError is the refusal of a source by the driver's compiler.
type CompileError struct {
	Device  string
	Options []string
	Log     string
	Source  string // where the source was left; "" if it could not be
	Lacks   string // what the device lacks that may be the reason; "" if nothing
}

// Error prints the compiler's words from the first error on, and where to look
// further.
func (e *CompileError) Error() string {
	s := fmt.Sprintf("the OpenCL compiler of %s (%s) could not compile the generated code", e.Device,
		strings.Join(e.Options, " "))
	if e.Source != "" {
		s += ", which is left in " + e.Source
	}
	if e.Lacks != "" {
		s += "; " + e.Lacks
	}
	s += ":"
	lines := firstError(strings.Split(strings.TrimSpace(e.Log), "\n"))
	const most = 12
	for i, line := range lines {
		if i == most {
			return s + fmt.Sprintf("\n  ... and %d more lines", len(lines)-most)
		}
		s += "\n  " + line
	}
	return s
}

// firstError leaves out the warnings before the first error.
func firstError(lines []string) []string {
	for i, line := range lines {
		if strings.Contains(line, "error") {
			return lines[i:]
		}
	}
	return lines
}

// program is a built program.
type program struct {
	api    *api
	handle handle
	said   string // by the compiler when it was built first, if the driver says nothing now
}

func (p program) release() { p.api.ReleaseProgram(p.handle) }

// compile builds a program from source.
func (a *api) compile(context handle, p *Properties, text []byte, options []string) (program, error) {
	code, err := unix.BytePtrFromString(string(text))
	if err != nil {
		return program{}, fmt.Errorf("the generated code cannot be compiled: %w", err)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(code)
	size, r := uintptr(len(text)), codeOK
	made := program{api: a, handle: a.FromSource(context, 1, &code, &size, &r)}
	if r != 0 {
		return program{}, fail(r, "clCreateProgramWithSource", "the generated code cannot be handed to the compiler")
	}
	return made, made.build(p, text, options)
}

const codeOK = code(0)

// build compiles or links the program for the device, and releases it if that
// fails.
func (p program) build(on *Properties, text []byte, options []string) error {
	d := on.device
	r := p.api.Build(p.handle, 1, &d, strings.Join(options, " "), 0, 0)
	if r == 0 {
		return nil
	}
	defer p.release()
	err := fail(r, "clBuildProgram", "the code cannot be built for %s (%s)", on.Name, strings.Join(options, " "))
	const buildFailure, compileFailure = -11, -15
	log := p.log(on)
	if r != buildFailure && r != compileFailure || text == nil || log == "" {
		if log != "" {
			err = fmt.Errorf("%w: %s", err, log)
		}
		return verdict.For(verdict.Compiler, err)
	}
	refused := &CompileError{Device: on.Name, Options: options, Log: log, Source: toolchain.Leave(text, ".cl")}
	if on.Double == 0 && strings.Contains(string(text), "double") {
		refused.Lacks = "the device has no double precision"
	}
	return verdict.For(verdict.Compiler, refused)
}

// log is what the compiler said.
func (p program) log(on *Properties) string {
	const buildLog = 0x1183
	var n uintptr
	if p.api.BuildInfo(p.handle, on.device, buildLog, 0, nil, &n) != 0 || n < 2 {
		return ""
	}
	text := make([]byte, n)
	if p.api.BuildInfo(p.handle, on.device, buildLog, n, unsafe.Pointer(&text[0]), nil) != 0 {
		return ""
	}
	return strings.TrimSpace(temporary.ReplaceAllString(unix.ByteSliceToString(text), "kernels.cl"))
}

// temporary is what PoCL calls the source, another name each time.
var temporary = regexp.MustCompile(`\S*/tempfile_\w+\.cl`)

// keepsItsOwn reports whether there is no use in the driver's binaries. PoCL
// has a cache, from which it takes kernels that were made for one size of
// work-groups; for a binary it makes all of them once more, for any size.
func (p *Properties) keepsItsOwn() bool { return p.Platform == pocl }

const pocl = "Portable Computing Language"

// binary returns the program as the driver can load it again; nothing where it
// does not give it.
func (p program) binary() []byte {
	const binarySizes, binaries = 0x1165, 0x1166
	var size uintptr
	if p.api.ProgramInfo(p.handle, binarySizes, unsafe.Sizeof(size), unsafe.Pointer(&size), nil) != 0 || size == 0 {
		return nil
	}
	code := make([]byte, size)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&code[0])
	at := &code[0]
	if p.api.ProgramInfo(p.handle, binaries, unsafe.Sizeof(at), unsafe.Pointer(&at), nil) != 0 {
		return nil
	}
	return code
}

// reload makes a program of a binary. A driver refuses what another one, or
// another version of it, has made.
func (a *api) reload(context handle, p *Properties, binary []byte, options []string) (program, error) {
	if len(binary) == 0 {
		return program{}, fmt.Errorf("there is no binary")
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&binary[0])
	d, at, size := p.device, &binary[0], uintptr(len(binary))
	status, r := codeOK, codeOK
	made := program{api: a, handle: a.FromBinary(context, 1, &d, &size, &at, &status, &r)}
	if r == 0 && status != 0 {
		made.release()
		r = status
	}
	if r != 0 {
		return program{}, fail(r, "clCreateProgramWithBinary", "the compiled code cannot be loaded on %s, driver %s",
			p.Name, p.Driver)
	}
	return made, made.build(p, nil, options)
}
