package opencl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestGeometry(t *testing.T) {
	d := open(t)
	p := &d.Properties
	l := load(t, d, arith.Strict, scaleSource("1"))
	_, _, from, to := arrays(t, d, 8, 8)
	args := []device.Arg{to, from, long(8), valueOf(op.Float(types.F64, 0))}
	clusters, cooperative, lavish := geometry(1, 32), geometry(1, 32), geometry(1, 32)
	lavish.Shared = p.Local + 1
	clusters.Cluster, cooperative.Cooperative = [3]int64{2, 1, 1}, true
	tests := []struct {
		kernel string
		g      kernel.Geometry
		args   []device.Arg
		want   string
	}{
		{"scale", geometry(0, 32), args, ""},
		{"scale", geometry(1, 0), args, ""},
		{"scale", geometry(1, p.MaxThreads), args, ""},
		{"scale", geometry(1, p.MaxBlock[0]+1), args,
			fmt.Sprintf("the kernel scale has %d threads a block on x, and %s runs %d at most", p.MaxBlock[0]+1, p.Name,
				p.MaxBlock[0])},
		{"scale", kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{p.MaxThreads, 2, 1}}, args,
			fmt.Sprintf("the kernel scale has %d threads a block, and %s runs %d at most", 2*p.MaxThreads, p.Name,
				p.MaxThreads)},
		{"scale", geometry(-1, 1), args, "the kernel scale: a negative number of blocks or threads on x"},
		{"scale", clusters, args, "the kernel scale runs in clusters of blocks, and OpenCL has none"},
		{"scale", cooperative, args,
			"the kernel scale has blocks that wait for each other, and OpenCL may run one after the other"},
		{"scale", lavish, args, fmt.Sprintf(
			"the kernel scale needs %d bytes of local memory a block, and %s has %d at most", p.Local+1, p.Name,
			p.Local)},
		{"scale", geometry(1, 32), args[:3], "the kernel scale has 4 parameters, and there are 3 arguments"},
		{"scale", geometry(1, 32), append(args[:4:4], long(0)),
			"the kernel scale has 4 parameters, and there are 5 arguments"},
		{"absent", geometry(1, 1), args,
			"the compiled code has no kernel absent: clCreateKernel: CL_INVALID_KERNEL_NAME (-46)"},
	}
	for _, test := range tests {
		c, err := l.PrepareGrid(test.kernel, test.g, test.args)
		if text(err) != test.want {
			t.Errorf("%s %v: %v\nwant %s", test.kernel, test.g, err, test.want)
		}
		if err == nil {
			do(t, c.Launch)
		}
	}
	if _, err := l.Prepare("scale", args); text(
		err) != "the kernel scale cannot be launched without the size of its grid" {
		t.Error(err)
	}
	r, err := l.Resources("big_tile")
	if err != nil || r.Local < 8 || r.MaxThreads < 1 || r.MaxThreads > p.MaxThreads || r.Multiple < 1 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestTooMuchLocalMemory(t *testing.T) {
	d := open(t)
	p := &d.Properties
	if p.Kind != "cpu" {
		t.Skip("the compiler may refuse it already")
	}
	l := load(t, d, arith.Strict, scaleSource(fmt.Sprint(p.Local/8+1)))
	_, _, _, to := arrays(t, d, 1, 1)
	_, err := l.PrepareGrid("big_tile", geometry(1, 1), []device.Arg{to})
	want := fmt.Sprintf("the kernel big_tile needs %d bytes of local memory a block, and %s has %d at most", p.Local+8,
		p.Name, p.Local)
	if text(err) != want || verdict.Of(err) != verdict.Launch {
		t.Errorf("%v, refused for %v\nwant %s", err, verdict.Of(err), want)
	}
}

func TestCompileErrors(t *testing.T) {
	d := open(t)
	p := &d.Properties
	b := builder(t, arith.Strict)
	_, err := b.Build(context.Background(),
		[]byte("__kernel void f(__global float *x) { int unused; x[0] = undeclared; }"))
	refused, ok := errors.AsType[*CompileError](err)
	if !ok || verdict.Of(err) != verdict.Compiler {
		t.Fatal(err)
	}
	head := fmt.Sprintf("the OpenCL compiler of %s (%s) could not compile the generated code, which is left in %s:\n",
		p.Name, strings.Join(p.options(arith.Strict), " "), refused.Source)
	rest, ok := strings.CutPrefix(err.Error(), head)
	if first, _, _ := strings.Cut(rest, "\n"); !ok || !strings.Contains(first, "error") ||
		!strings.Contains(first, "undeclared") {
		t.Errorf("%v", err)
	}
	if p.Platform == pocl && !strings.HasPrefix(rest,
		"  error: kernels.cl:2:57: use of undeclared identifier 'undeclared'\n") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(refused.Source); err != nil || !strings.Contains(string(text), "undeclared") {
		t.Error(string(text), err)
	}
	os.Remove(refused.Source)
	if _, err := b.Build(context.Background(), []byte("int x\x00;")); err == nil {
		t.Error("a source with a zero byte")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Build(ctx, []byte("int x;")); err != context.Canceled {
		t.Error(err)
	}
}

// The compiler's warnings before the first error, and the end of a long log,
// are left out; what the device lacks is said.
func TestCompileErrorText(t *testing.T) {
	lines := []string{"kernels.cl:1:1: warning: unused", "error: one"}
	for i := range 13 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	e := &CompileError{Device: "D", Options: []string{"-a", "-b"}, Log: strings.Join(lines, "\n"),
		Lacks: "the device has no double precision"}
	want := "the OpenCL compiler of D (-a -b) could not compile the generated code; the device has no double " +
		"precision:\n  error: one\n  " +
		strings.Join(lines[2:13], "\n  ") + "\n  ... and 2 more lines"
	if e.Error() != want {
		t.Errorf("%s\nwant %s", e, want)
	}
}

// What was compiled once is found again, for modes with the same options only.
func TestCache(t *testing.T) {
	open(t)
	b := builder(t, arith.Contract)
	paths := map[string]bool{}
	for _, a := range []arith.Mode{arith.Contract, arith.Strict, arith.Fast} {
		b.Arithmetic = a
		path, err := b.Build(context.Background(), []byte("__kernel void f(__global float *x) { x[0] = 1; }"))
		if err != nil {
			t.Fatal(err)
		}
		paths[path] = true
	}
	files, _ := os.ReadDir(b.Cache.Dir)
	if len(paths) != 2 || len(files) != 2 {
		t.Errorf("%d paths, %d files", len(paths), len(files))
	}
}

func TestLoad(t *testing.T) {
	d := open(t)
	if _, err := d.Load("/no/such/image"); text(
		err) != "the compiled code cannot be loaded: open /no/such/image: no such file or directory" {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "x.cl.bin")
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(path); text(err) != "the compiled code cannot be loaded: "+path+": the file is damaged" {
		t.Error(err)
	}
	// A binary of another driver, or none, is no loss.
	b := builder(t, arith.Strict)
	for _, binary := range []string{"code for another device", ""} {
		path, err := keep(b.Cache, "x.cl.bin", image{Source: []byte("__kernel void f(__global float *x) { x[0] = 1; }"),
			Binary: []byte(binary)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := d.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := l.(*Library).Resources("f"); err != nil || r.MaxThreads == 0 {
			t.Error(r, err)
		}
	}
	// A binary that the driver takes is used.
	p, err := d.api.compile(d.context, &d.Properties, []byte("__kernel void g(__global float *x) { x[0] = 1; }"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	if path, err = keep(b.Cache, "y.cl.bin", image{Source: []byte("no source"), Binary: p.binary()}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(path); err != nil {
		t.Error(err)
	}
}

// Closing a device gives back all that came from it, whatever was closed
// before.
func TestClose(t *testing.T) {
	d := open(t)
	var all []*Library
	for range 3 {
		all = append(all, load(t, d, arith.Strict, scaleSource("1")))
	}
	for range 2 {
		if _, err := d.Alloc(8); err != nil {
			t.Fatal(err)
		}
	}
	do(t, all[1].Close, d.Close, d.Close)
	for i, l := range all {
		if l.program.handle != 0 {
			t.Errorf("library %d is still loaded", i)
		}
	}
	if len(d.buffers) != 0 || d.taken != 0 {
		t.Errorf("%d buffers, %d bytes", len(d.buffers), d.taken)
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  error
		want string
		lost bool
	}{
		{fail(-5, "clFinish", "the device did not finish"),
			"the device did not finish: clFinish: CL_OUT_OF_RESOURCES (-5); " + wild, true},
		{fail(-4, "clCreateBuffer", "no %s", "room"),
			"no room: clCreateBuffer: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4); " + tooLarge, false},
		{fail(-30, "clX", "x"), "x: clX: CL_INVALID_VALUE (-30)", false},
		{fail(-7777, "clX", "x"), "x: clX: OpenCL error (-7777)", false},
	}
	for _, test := range tests {
		if test.err.Error() != test.want || test.err.(*Error).Lost() != test.lost {
			t.Errorf("%v, lost %v\nwant %s", test.err, test.err.(*Error).Lost(), test.want)
		}
	}
	d := &Device{last: "heat"}
	if err := d.fail(-36, "clFinish", "the device did not finish"); !strings.HasPrefix(err.Error(),
		"the device did not finish (the kernel launched last is heat): ") {
		t.Error(err)
	}
}

// A builder opens its device once, keeps of binaries what the driver loads, and
// what the compiler said.
func TestBuilder(t *testing.T) {
	open(t)
	b := builder(t, arith.Contract)
	const source = "__kernel void f(__global float *x) { x[0] = 1; }"
	made, err := b.Make([]byte(source))
	if err != nil || made.Cached || made.Took <= 0 {
		t.Fatalf("%+v %v", made, err)
	}
	context := b.context
	if again, ok := b.Kept([]byte(source)); !ok || !again.Cached || again.Path != made.Path || again.Took != made.Took {
		t.Errorf("%+v %v", again, ok)
	}
	if _, err := b.Make([]byte(source + "\n")); err != nil || b.context != context || context == 0 {
		t.Errorf("%v: the device was opened again", err)
	}
	p, err := b.api.compile(b.context, &b.device, []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	if binary := p.binary(); len(binary) == 0 || len(b.loadable(binary, nil)) != len(binary) {
		t.Errorf("a binary of %d bytes was dropped", len(binary))
	}
	if b.loadable([]byte("code for another device"), nil) != nil || b.loadable(nil, nil) != nil {
		t.Error("a binary that does not load was kept")
	}
	b.Close()
	if b.context != 0 {
		t.Error("the device is still open")
	}
}
