package opencl

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// preparedLaunch is a kernel object with its arguments. What the driver reads of a
// launch lies outside Go's heap: global and local size, then the arguments, 8
// bytes each.
type preparedLaunch struct {
	device *Device
	name   string
	kernel handle
	sizes  *[2 * dimensions]uintptr // all threads, and those of a block
	launch []uintptr                // of clEnqueueNDRangeKernel; nil if there is nothing to run
	slots  []slot
	values []value
}

// slot is a buffer argument, and what was last handed to the driver.
type slot struct {
	from  *device.Slot
	texel device.Texel // where it is read as an image
	to    *handle
	set   []uintptr // of clSetKernelArg
}

// memory returns what the driver gets.
func (s *slot) memory() (handle, error) {
	b := s.from.Buffer.(*Buffer)
	if s.texel.Count > 0 {
		return b.image(s.texel)
	}
	return b.memory, nil
}

// value is an argument by value, and what was last handed to the driver.
type value struct {
	from *device.Value
	to   *[8]byte
	set  []uintptr // of clSetKernelArg
}

const dimensions = 3

func (c *preparedLaunch) prepare(g kernel.Geometry, args []device.Arg, words []byte) error {
	d := c.device
	if err := c.lend(g, len(args)); err != nil {
		return err
	}
	c.sizes = (*[2 * dimensions]uintptr)(unsafe.Pointer(&words[0]))
	for i := range dimensions {
		c.sizes[i], c.sizes[dimensions+i] = uintptr(g.Blocks[i]*g.Threads[i]), uintptr(g.Threads[i])
	}
	for i, a := range args {
		word := unsafe.Pointer(&words[8*(2*dimensions+i)])
		set := []uintptr{uintptr(c.kernel), uintptr(i), unsafe.Sizeof(handle(0)), uintptr(word)}
		var r code
		switch a := a.(type) {
		case *device.Slot, *device.Image, *device.Constant:
			s := slot{to: (*handle)(word), set: set}
			switch a := a.(type) {
			case *device.Slot:
				s.from = a
			case *device.Image:
				s.from, s.texel = a.Of, a.Texel
			case *device.Constant: // an argument like others
				s.from = a.Of
			}
			var err error
			if *s.to, err = s.memory(); err != nil {
				return err
			}
			c.slots = append(c.slots, s)
			r = d.set(set)
		case *device.Value:
			*(*[8]byte)(word) = a.Bytes
			r = d.setSized(set)
			c.values = append(c.values, value{a, (*[8]byte)(word), set})
		default:
			panic(fmt.Sprintf("opencl: an argument of type %T", a))
		}
		if r != 0 {
			return d.fail(r, "clSetKernelArg", "the argument %d of the kernel %s is refused", i, c.name)
		}
	}
	const offset, waits, list, event = 0, 0, 0, 0
	global, local := uintptr(unsafe.Pointer(&c.sizes[0])), uintptr(unsafe.Pointer(&c.sizes[dimensions]))
	c.launch = []uintptr{uintptr(d.queue), uintptr(c.kernel), dimensions, offset, global, local, waits, list, event}
	return nil
}

// lend gives a kernel with one parameter more than there are arguments its
// local memory through it.
func (c *preparedLaunch) lend(g kernel.Geometry, args int) error {
	d := c.device
	const numberOfArgs = 0x1191
	q := &asker{ask: d.api.KernelInfo, of: c.kernel, call: "clGetKernelInfo", name: "the kernel " + c.name}
	parameters := int(number[uint32](q, numberOfArgs))
	switch {
	case q.err != nil || parameters == args:
		return q.err
	case parameters != args+1 || g.Shared == 0:
		return fmt.Errorf("the kernel %s has %d parameters, and there are %d arguments", c.name, parameters, args)
	}
	if r := d.set([]uintptr{uintptr(c.kernel), uintptr(args), uintptr(g.Shared), 0}); r != 0 {
		return verdict.For(verdict.Launch,
			d.fail(r, "clSetKernelArg", "the kernel %s cannot have %d bytes of local memory", c.name, g.Shared))
	}
	return nil
}

func (d *Device) set(arg []uintptr) code {
	status, _, _ := purego.SyscallN(d.api.SetArg, arg...)
	return code(status) // the register's upper half means nothing
}

// setSized sets an argument by value of unknown size, and leaves the size in
// place. Only the driver knows which type the parameter has.
func (d *Device) setSized(arg []uintptr) code {
	var r code
	for _, size := range []uintptr{8, 4, 1} {
		arg[2] = size
		const invalidSize = -51
		if r = d.set(arg); r != invalidSize {
			return r
		}
	}
	return r
}

// Launch starts the kernel. It allocates nothing. The driver copies arguments
// when they are set, so those that have not changed are not set again.
func (c *preparedLaunch) Launch() error {
	if c.launch == nil {
		return nil
	}
	d := c.device
	for i := range c.slots {
		s := &c.slots[i]
		m, err := s.memory()
		if err != nil {
			return err
		}
		if m != *s.to {
			*s.to = m
			if r := d.set(s.set); r != 0 {
				return d.fail(r, "clSetKernelArg", "a buffer of the kernel %s is refused", c.name)
			}
		}
	}
	for _, v := range c.values {
		if v.from.Bytes != *v.to {
			*v.to = v.from.Bytes
			if r := d.set(v.set); r != 0 {
				return d.fail(r, "clSetKernelArg", "a value of the kernel %s is refused", c.name)
			}
		}
	}
	d.last = c.name
	c.launch[len(c.launch)-1] = d.eventWord()
	status, _, _ := purego.SyscallN(d.api.Launch, c.launch...)
	if r := code(status); r != 0 { // the register's upper half means nothing
		return c.refused(r)
	}
	d.timed()
	return nil
}

func (c *preparedLaunch) refused(r code) error {
	err := c.device.fail(r, "clEnqueueNDRangeKernel",
		"the kernel %s cannot be launched: threads %v, of which %v a block", c.name, c.sizes[:dimensions],
		c.sizes[dimensions:])
	return verdict.For(verdict.Launch, err)
}
