package omnitune

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Size is a work-group size: threads along x, y and z.
type Size struct{ Columns, Rows, Planes int }

// String returns a text like "64x4", or "64x4x2" where there are several planes.
func (s Size) String() string {
	if s.Planes == 1 {
		return fmt.Sprintf("%dx%d", s.Columns, s.Rows)
	}
	return fmt.Sprintf("%dx%dx%d", s.Columns, s.Rows, s.Planes)
}

func compareSizes(a, b Size) int {
	return cmp.Or(cmp.Compare(a.Columns, b.Columns), cmp.Compare(a.Rows, b.Rows), cmp.Compare(a.Planes, b.Planes))
}

// Scenario is a kernel on a dataset on a device.
type Scenario struct {
	Name            string
	Device, Dataset string
	Kernel          int       // kernels whose instructions are counted alike, or that are one stencil, have one number
	Pattern         string    // of the stencil, if it is known
	Features        []float64 // as the suite names them
	Synthetic       bool      // a generated kernel
	Sizes           []Size    // that were run, in order
	Speeds          []float64 // of the fastest of them, at each
	Best            float64   // the time of the fastest in milliseconds

	// Judged tells that it is known which sizes are refused: those of Illegal, in order. Of others that were not run
	// nothing is known.
	Judged  bool
	Illegal []Size

	Twin string // the name of the first scenario that has the same kernel, features, dataset and device
}

// fastest returns the first size that no other is faster than.
func (x *Scenario) fastest() Size { return x.Sizes[slices.Index(x.Speeds, 1)] }

// time returns the time at one of its sizes, in milliseconds.
func (x *Scenario) time(size int) float64 { return x.Best / x.Speeds[size] }

// over returns how much faster a scenario is at one of its sizes than at a base, if that was run.
func (x *Scenario) over(base Size, size int) (float64, bool) {
	i := slices.Index(x.Sizes, base)
	if i < 0 {
		return 0, false
	}
	return x.Speeds[size] / x.Speeds[i], true
}

// known are the sizes that were run, and those that are refused.
func (x *Scenario) known() []Size { return slices.Concat(x.Sizes, x.Illegal) }

// Suite is a list of scenarios with the same features.
type Suite struct {
	Features  []string
	Scenarios []Scenario
	Empty     int    // scenarios that were never run, or with no shared configuration, which are left out
	Twins     int    // scenarios that have the same kernel, features, dataset and device as one before
	Data      string // tells files apart
	Splits    []Split

	// The sizes that speed-ups are told over. The zero values are those of Cummins et al.
	Baseline, Expert Size
}

// findTwins tells scenarios that are there more than once, under any name. Whoever has seen one has seen the other, so
// that they are left out together.
func (s *Suite) findTwins() {
	first := map[string]string{}
	for i := range s.Scenarios {
		x := &s.Scenarios[i]
		key := fmt.Sprint(x.Kernel, x.Features, "\n", x.Dataset, "\n", x.Device)
		name, known := first[key]
		if !known {
			name, first[key] = x.Name, x.Name
		} else {
			s.Twins++
		}
		x.Twin = name
	}
}

// twinNote says how many twins there are; nothing if there are none.
func (s *Suite) twinNote() string {
	if s.Twins == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d scenarios have the same features, dataset and device as one before, and are left out "+
		"together with it", s.Twins, len(s.Scenarios))
}

// references are the sizes that speed-ups are told over.
func (s *Suite) references() (base, expert Size) {
	return cmp.Or(s.Baseline, baseline), cmp.Or(s.Expert, human)
}

// deep reports whether work-groups have several planes.
func (s *Suite) deep() bool {
	return slices.ContainsFunc(s.Scenarios, func(x Scenario) bool {
		return slices.ContainsFunc(x.Sizes, func(z Size) bool { return z.Planes > 1 })
	})
}

// mostBytes is how much a file of scenarios may be.
const mostBytes = 256 << 20

// Read reads scenarios from a file, compressed or not: {"data": [...]} with an object for each.
func Read(path string) (*Suite, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r = z
	}
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(text) > mostBytes:
		return nil, fmt.Errorf("%s: more than %d MiB of scenarios", path, mostBytes>>20)
	}
	var file struct {
		Data []map[string]any `json:"data"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := suiteOf(file.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Data = fmt.Sprintf("%x", sha256.Sum256(text))[:12]
	return s, nil
}

// suiteOf takes what is a feature of the records, and their times.
func suiteOf(records []map[string]any) (*Suite, error) {
	if len(records) == 0 {
		return nil, fmt.Errorf("there are no scenarios")
	}
	s := &Suite{Splits: Splits}
	for name := range records[0] {
		if isFeature(name) {
			s.Features = append(s.Features, name)
		}
	}
	slices.Sort(s.Features)
	kernels := map[string]int{}
	for i, r := range records {
		x, kernel, err := s.scenario(r)
		if err != nil {
			return nil, fmt.Errorf("scenario %d: %w", i, err)
		}
		if len(x.Sizes) == 0 {
			s.Empty++
			continue
		}
		if _, known := kernels[kernel]; !known {
			kernels[kernel] = len(kernels)
		}
		x.Kernel = kernels[kernel]
		s.Scenarios = append(s.Scenarios, *x)
	}
	if len(s.Scenarios) == 0 {
		return nil, fmt.Errorf("none of %d scenarios was run", s.Empty)
	}
	s.findTwins()
	return s, nil
}

// scenario returns a record's scenario, and a text of its kernel's features.
func (s *Suite) scenario(r map[string]any) (x *Scenario, kernel string, err error) {
	x = &Scenario{}
	for _, name := range s.Features {
		v, ok := number(name, r[name])
		if !ok {
			return nil, "", fmt.Errorf("%s is %v, and no number", name, r[name])
		}
		x.Features = append(x.Features, v)
		if strings.HasPrefix(name, "kernel_") {
			kernel += fmt.Sprintf("%s=%v ", name, v)
		}
	}
	text := func(name string) string { return fmt.Sprint(r[name]) }
	x.Name, x.Device = text("Benchmark"), text("dev_name")
	x.Synthetic = strings.HasPrefix(x.Name, "[") // its borders, in place of a name
	x.Dataset = text("DataWidth") + "x" + text("DataHeight")
	times := map[Size]float64{}
	for name, v := range r {
		rest, ok := strings.CutPrefix(name, "Runtime")
		if !ok {
			continue
		}
		columns, rows, _ := strings.Cut(rest, "x")
		c, err1 := strconv.Atoi(columns)
		n, err2 := strconv.Atoi(rows)
		t, isNumber := v.(float64)
		if err1 != nil || err2 != nil || c < 1 || n < 1 || !isNumber || t < 0 {
			return nil, "", fmt.Errorf("%s is %v, and no time of a work-group size", name, v)
		}
		if t > 0 { // 0 is unknown, and not illegal
			times[Size{c, n, 1}] = t
		}
	}
	if len(times) == 0 {
		return x, kernel, nil
	}
	x.Best = slices.Min(slices.Collect(maps.Values(times)))
	x.Sizes = slices.SortedFunc(maps.Keys(times), compareSizes)
	for _, size := range x.Sizes {
		x.Speeds = append(x.Speeds, x.Best/times[size])
	}
	return x, kernel, nil
}

// feature returns a feature of a scenario, 0 if there is none of the name.
func (s *Suite) feature(x *Scenario, name string) float64 {
	if j := slices.Index(s.Features, name); j >= 0 {
		return x.Features[j]
	}
	return 0
}

// deviceFeatures are the properties of devices that say what they can do; others are names, or the same everywhere.
var deviceFeatures = []string{
	"address_bits", "cache_line_size", "cache_size", "constant_buffer_size", "device_type", "global_memory_size",
	"kernel_preferred_work_group_size_multiple", "local_memory_size", "local_memory_type", "max_clock_frequency",
	"max_compute_units", "max_memory_allocation", "max_work_group_size", "native_vector_width_char",
	"native_vector_width_double", "native_vector_width_float", "native_vector_width_int", "native_vector_width_long",
	"native_vector_width_short", "preferred_vector_width_char", "preferred_vector_width_double",
	"preferred_vector_width_float", "preferred_vector_width_int", "preferred_vector_width_long",
	"preferred_vector_width_short", "unified_memory_for_host_and_device",
}

// words are the numbers of features that are words.
var words = map[string]map[string]float64{
	"dev_device_type":       {"cl_device_type_cpu": 0, "cl_device_type_gpu": 1, "cl_device_type_accelerator": 2},
	"dev_local_memory_type": {"none": 0, "global": 1, "local": 2, "scratchpad": 2},
}

func isFeature(name string) bool {
	device, ok := strings.CutPrefix(name, "dev_")
	return ok && slices.Contains(deviceFeatures, device) || strings.HasPrefix(name, "kernel_") ||
		slices.Contains([]string{"BorderNorth", "BorderSouth", "BorderEast", "BorderWest", "DataWidth", "DataHeight",
			"DeviceCount"}, name)
}

func number(name string, v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		x, ok := words[name][v]
		return x, ok
	}
	return 0, false
}
