package cuda

import (
	"fmt"
	"sync"

	"github.com/gridloom/gridloom/internal/run/sharedlib"
)

// management is NVML, which tells what libcuda does not. Nothing depends on it.
type management struct {
	Init          func() int32                                      `symbol:"nvmlInit_v2"`
	DriverVersion func(text *byte, size uint32) int32               `symbol:"nvmlSystemGetDriverVersion"`
	ByBus         func(bus string, device *handle) int32            `symbol:"nvmlDeviceGetHandleByPciBusId_v2"`
	Clock         func(device handle, which int32, v *uint32) int32 `symbol:"nvmlDeviceGetClockInfo"`
	Temperature   func(device handle, which int32, v *uint32) int32 `symbol:"nvmlDeviceGetTemperature"`
	Power         func(device handle, milliwatts *uint32) int32     `symbol:"nvmlDeviceGetPowerUsage"`
}

var managementPlace = sharedlib.Place{
	Env:     "GRIDLOOM_NVML",
	Names:   []string{"libnvidia-ml.so.1", "libnvidia-ml.so"},
	Folders: driverPlace.Folders,
}

var openManagement = sync.OnceValues(func() (*management, error) {
	library, path, err := managementPlace.Open()
	if err != nil {
		return nil, err
	}
	m := &management{}
	if err := sharedlib.Bind(library, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r := m.Init(); r != 0 {
		return nil, fmt.Errorf("%s: nvmlInit: error %d", path, r)
	}
	return m, nil
})

// Condition is the state that a GPU is in: what a measurement depends on and
// nobody chose.
type Condition struct {
	Clock       int // of the multiprocessors, MHz
	MemoryClock int // MHz
	Temperature int // degrees Celsius
	Power       int // W
}

// String prints the condition for people.
func (c Condition) String() string {
	return fmt.Sprintf("%d MHz, memory %d MHz, %d degrees C, %d W", c.Clock, c.MemoryClock, c.Temperature, c.Power)
}

// Condition returns the GPU's present state, if NVML tells it.
func (g *GPU) Condition() (Condition, bool) {
	m, err := openManagement()
	if err != nil || g.Bus == "" {
		return Condition{}, false
	}
	var device handle
	if m.ByBus(g.Bus, &device) != 0 {
		return Condition{}, false
	}
	const (
		clockSM           = 1
		clockMemory       = 2
		temperatureOfChip = 0
	)
	var clock, memory, temperature, power uint32
	if m.Clock(device, clockSM, &clock) != 0 {
		return Condition{}, false
	}
	// What one of these does not tell stays 0.
	m.Clock(device, clockMemory, &memory)
	m.Temperature(device, temperatureOfChip, &temperature)
	m.Power(device, &power)
	return Condition{int(clock), int(memory), int(temperature), int(power / 1000)}, true
}
