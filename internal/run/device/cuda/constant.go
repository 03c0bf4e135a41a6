package cuda

import (
	"fmt"
	"slices"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// constant is constant memory of a loaded image that holds what a buffer has.
type constant struct {
	device *Device
	name   string
	at     pointer
	bytes  int64
	from   *Buffer
}

// fillConstants fills the constant memory of a kernel and returns the arguments
// that are left for its launch.
func (l *Library) fillConstants(kernel string, args []device.Arg) ([]device.Arg, error) {
	var rest []device.Arg
	for _, a := range args {
		c, ok := a.(*device.Constant)
		if !ok {
			rest = append(rest, a)
			continue
		}
		if err := l.fillConstant(emit.ConstantSymbol(kernel, c.Parameter), c.Of.Buffer.(*Buffer)); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func (l *Library) fillConstant(symbol string, from *Buffer) error {
	if c, ok := l.constants[symbol]; ok {
		if c.from != from {
			return fmt.Errorf("the constant memory %s is to hold two grids", symbol)
		}
		return nil
	}
	c := &constant{device: l.device, name: symbol, from: from}
	var bytes uint64
	if r := l.device.driver.ModuleGlobal(&c.at, &bytes, l.module, symbol); r != 0 {
		return l.device.fail(r, "cuModuleGetGlobal", "the compiled code has no constant memory %s", symbol)
	}
	c.bytes = min(int64(bytes), from.bytes) // either may have more padding
	if l.constants == nil {
		l.constants = map[string]*constant{}
	}
	l.constants[symbol] = c
	from.constants = append(from.constants, c)
	return c.fill()
}

// fill starts to copy the buffer's contents.
func (c *constant) fill() error {
	const defaultStream = 0
	code, _, _ := purego.SyscallN(c.device.driver.CopyDtoD, uintptr(c.at), uintptr(c.from.at), uintptr(c.bytes),
		defaultStream)
	if r := result(code); r != 0 { // the register's upper half means nothing
		return c.device.fail(r, "cuMemcpyDtoDAsync", "%s cannot be copied to the constant memory %s",
			memory.Size(c.bytes), c.name)
	}
	return nil
}

// renew fills all constant memory that holds the buffer's contents, after these
// have changed.
func (b *Buffer) renew() error {
	for _, c := range b.constants {
		if err := c.fill(); err != nil {
			return err
		}
	}
	return nil
}

// forgetConstants takes the library's constant memory from its buffers.
func (l *Library) forgetConstants() {
	for _, c := range l.constants {
		c.from.constants = slices.DeleteFunc(c.from.constants, func(o *constant) bool { return o == c })
	}
	l.constants = nil
}
