package cuda

import (
	"fmt"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// attribute is the driver's CUlaunchAttribute: what a launch asks for besides
// its size.
type attribute struct {
	id    uint32
	_     uint32
	value attributeValue
}

type attributeValue [64]byte

const (
	cooperativeAttribute = 2
	clusterAttribute     = 4
)

func attributes(g kernel.Geometry) []attribute {
	var list []attribute
	if g.Cooperative {
		a := attribute{id: cooperativeAttribute}
		*(*int32)(unsafe.Pointer(&a.value)) = 1
		list = append(list, a)
	}
	if g.Cluster != [3]int64{} {
		a := attribute{id: clusterAttribute}
		size := (*[3]uint32)(unsafe.Pointer(&a.value))
		for i, n := range g.Cluster {
			size[i] = uint32(n)
		}
		list = append(list, a)
	}
	return list
}

// launchConfig is the driver's CUlaunchConfig, and the attributes that it
// points at.
type launchConfig struct {
	blocks, threads [3]uint32
	shared          uint32
	_               uint32
	stream          handle
	attributes      uintptr
	count           uint32
	_               uint32
	list            [2]attribute
}

const configBytes = int(unsafe.Sizeof(launchConfig{}))

// prepareEx prepares the launch with attributes, in that memory.
func (c *preparedLaunch) prepareEx(storage []byte) error {
	if c.device.driver.LaunchEx == 0 {
		return verdict.For(verdict.Launch,
			fmt.Errorf(
				"the kernel %s runs in clusters, or its blocks wait for each other, and the driver is too old for that",
				c.name))
	}
	config := (*launchConfig)(unsafe.Pointer(&storage[0]))
	for i := range 3 {
		config.blocks[i], config.threads[i] = uint32(c.geometry.Blocks[i]), uint32(c.geometry.Threads[i])
	}
	config.shared, config.count = uint32(c.geometry.Shared), uint32(copy(config.list[:], c.attributes))
	config.attributes = uintptr(unsafe.Pointer(&config.list))
	const extra = 0
	c.entry = c.device.driver.LaunchEx
	c.launch = []uintptr{uintptr(unsafe.Pointer(config)), uintptr(c.function), c.block.address(), extra}
	return nil
}
