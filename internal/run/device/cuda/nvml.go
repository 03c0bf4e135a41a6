package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
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
	PowerLimit    func(device handle, milliwatts *uint32) int32     `symbol:"nvmlDeviceGetEnforcedPowerLimit,optional"`
	Memory        func(device handle, m *memoryInfo) int32          `symbol:"nvmlDeviceGetMemoryInfo,optional"`
	Utilization   func(device handle, u *utilization) int32         `symbol:"nvmlDeviceGetUtilizationRates,optional"`
}

// memoryInfo is NVML's nvmlMemory_t, and utilization its nvmlUtilization_t.
type (
	memoryInfo  struct{ _, _, used uint64 } // total, free, used
	utilization struct{ gpu, _ uint32 }     // gpu, memory
)

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
// nobody chose. What is not known is 0.
type Condition struct {
	Clock       int   // of the multiprocessors, MHz
	MemoryClock int   // MHz
	Temperature int   // degrees Celsius
	Power       int   // W
	PowerLimit  int   // W, above which clocks are lowered
	Used        int64 // bytes of memory that are taken, by all programs
	Busy        int   // percent of the last second or so in which kernels ran
}

// String prints the condition for people.
func (c Condition) String() string {
	s := fmt.Sprintf("%d MHz, memory %d MHz, %d degrees C, %d W", c.Clock, c.MemoryClock, c.Temperature, c.Power)
	if c.PowerLimit > 0 {
		s += fmt.Sprintf(" of %d", c.PowerLimit)
	}
	if c.Used > 0 {
		s += fmt.Sprintf(", %s taken", memory.Size(c.Used))
	}
	if c.Busy > 0 {
		s += fmt.Sprintf(", %d %% busy", c.Busy)
	}
	return s
}

// Condition returns the GPU's present state, if NVML tells it.
func (g *GPU) Condition() (Condition, bool) {
	c, err := g.condition()
	return c, err == nil
}

func (g *GPU) condition() (Condition, error) {
	m, err := openManagement()
	if err != nil {
		return Condition{}, err
	}
	var device handle
	if g.Bus == "" || m.ByBus(g.Bus, &device) != 0 {
		return Condition{}, errors.New("NVML does not know the GPU")
	}
	const (
		clockSM           = 1
		clockMemory       = 2
		temperatureOfChip = 0
	)
	var clock, memoryClock, temperature, power, limit uint32
	if r := m.Clock(device, clockSM, &clock); r != 0 {
		return Condition{}, fmt.Errorf("NVML does not tell its clocks (error %d)", r)
	}
	// What one of these does not tell stays 0.
	m.Clock(device, clockMemory, &memoryClock)
	m.Temperature(device, temperatureOfChip, &temperature)
	m.Power(device, &power)
	var taken memoryInfo
	var use utilization
	if m.PowerLimit != nil {
		m.PowerLimit(device, &limit)
	}
	if m.Memory != nil {
		m.Memory(device, &taken)
	}
	if m.Utilization != nil {
		m.Utilization(device, &use)
	}
	return Condition{int(clock), int(memoryClock), int(temperature), int(power / 1000), int(limit / 1000),
		int64(taken.used), int(use.gpu)}, nil
}

// figures lists what of a condition is known.
func (c Condition) figures() []device.Figure {
	all := []device.Figure{
		{Name: "clock_now_mhz", Value: int64(c.Clock)}, {Name: "memory_clock_now_mhz", Value: int64(c.MemoryClock)},
		{Name: "temperature_celsius", Value: int64(c.Temperature)}, {Name: "power_watt", Value: int64(c.Power)},
		{Name: "power_limit_watt", Value: int64(c.PowerLimit)}, {Name: "memory_taken_bytes", Value: c.Used},
		{Name: "busy_percent", Value: int64(c.Busy)},
	}
	return known(all)
}

// known leaves out what is not known.
func known(list []device.Figure) []device.Figure {
	return slices.DeleteFunc(list, func(f device.Figure) bool { return f.Value == 0 })
}
