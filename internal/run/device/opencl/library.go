package opencl

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Library is a loaded image.
type Library struct {
	device  *Device
	program program
	kernels []handle         // of its launches
	words   []*memory.Region // of its launches
}

var _ device.Gridded = (*Library)(nil)

// Load loads an image that a Builder has made. Where the driver refuses the
// binary in it, it is built from the source once more.
func (d *Device) Load(path string) (device.Library, error) {
	made, err := readImage(path)
	if err != nil {
		return nil, err
	}
	p, err := d.api.reload(d.context, &d.Properties, made.Binary, made.Options)
	if err != nil {
		if p, err = d.api.compile(d.context, &d.Properties, made.Source, made.Options); err != nil {
			return nil, err
		}
	}
	p.said = made.Log
	return d.adopt(p), nil
}

// LoadSource compiles a source with these options and no others, and loads it.
func (d *Device) LoadSource(text []byte, options []string) (*Library, error) {
	p, err := d.api.compile(d.context, &d.Properties, text, options)
	if err != nil {
		return nil, err
	}
	return d.adopt(p), nil
}

func (d *Device) adopt(p program) *Library {
	l := &Library{device: d, program: p}
	d.libraries = append(d.libraries, l)
	return l
}

// Close forgets the image.
func (l *Library) Close() error {
	if l.program.handle == 0 {
		return nil
	}
	d := l.device
	d.libraries = slices.DeleteFunc(d.libraries, func(m *Library) bool { return m == l })
	err := d.Sync() // what was queued reads its sizes and values from the words
	for _, k := range l.kernels {
		if r := d.api.ReleaseKernel(k); r != 0 && err == nil {
			err = d.fail(r, "clReleaseKernel", "a kernel cannot be forgotten")
		}
	}
	if r := d.api.ReleaseProgram(l.program.handle); r != 0 && err == nil {
		err = d.fail(r, "clReleaseProgram", "the compiled code cannot be forgotten")
	}
	l.program.handle = 0
	for _, w := range l.words {
		if e := w.Close(); err == nil {
			err = e
		}
	}
	return err
}

// kernel makes a kernel object, with arguments of its own.
func (l *Library) kernel(name string) (handle, error) {
	r := codeOK
	k := l.device.api.CreateKernel(l.program.handle, emit.OpenCL.Symbol(name), &r)
	if r != 0 {
		return 0, l.device.fail(r, "clCreateKernel", "the compiled code has no kernel %s", name)
	}
	return k, nil
}

// Prepare is refused: a device has to know over which blocks a kernel runs.
func (l *Library) Prepare(kernel string, _ []device.Arg) (device.PreparedLaunch, error) {
	return nil, fmt.Errorf("the kernel %s cannot be launched without the size of its grid", kernel)
}

// PrepareGrid binds a kernel's parameters to arguments, in its order.
func (l *Library) PrepareGrid(name string, g kernel.Geometry, args []device.Arg) (device.PreparedLaunch, error) {
	k, err := l.kernel(name)
	if err != nil {
		return nil, err
	}
	l.kernels = append(l.kernels, k)
	empty, err := l.fits(name, k, g)
	if err != nil {
		return nil, err
	}
	c := &preparedLaunch{device: l.device, name: name, kernel: k}
	if empty {
		return c, nil
	}
	words, err := memory.Anonymous(int64(8 * (6 + len(args))))
	if err != nil {
		return nil, err
	}
	l.words = append(l.words, words)
	return c, c.prepare(g, args, words.Bytes())
}
