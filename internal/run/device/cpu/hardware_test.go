package cpu

import (
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Caches of cores and shared ones are told apart, and shared ones counted together.
func TestHardware(t *testing.T) {
	root := fstest.MapFS{}
	put := func(path, text string) {
		root["sys/devices/system/cpu/"+path] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	cache := func(cpu, index, level, kind, size, shared string) {
		dir := "cpu" + cpu + "/cache/index" + index + "/"
		put(dir+"level", level)
		put(dir+"type", kind)
		put(dir+"size", size)
		put(dir+"shared_cpu_list", shared)
		put(dir+"coherency_line_size", "64")
	}
	// Two cores of two threads, each with an L3; processors of a core are not neighbours.
	for cpu, core := range map[string]string{"0": "0,2", "1": "1,3", "2": "0,2", "3": "1,3"} {
		put("cpu"+cpu+"/topology/thread_siblings_list", core)
		cache(cpu, "0", "1", "Data", "32K", core)
		cache(cpu, "1", "1", "Instruction", "64K", core)
		cache(cpu, "2", "2", "Unified", "1024K", core)
		cache(cpu, "3", "3", "Unified", "8192K", "0-3")
	}
	want := &machine.Machine{
		Name: "p", Kind: machine.KindCPU, Source: "what the system tells", Units: 2,
		Caches: []machine.Cache{
			{Name: "L1", Bytes: 32 << 10, PerUnit: true, LineBytes: 64},
			{Name: "L2", Bytes: 1 << 20, PerUnit: true, LineBytes: 64},
			{Name: "L3", Bytes: 8 << 20, LineBytes: 64},
		},
		CPU: &machine.CPU{VectorBits: 256, ThreadsPerCore: 2},
	}
	if got := hardware(root, "p", 4, []string{"sse", "avx", "avx2"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	bare := hardware(fstest.MapFS{}, "q", 3, nil)
	if bare.Units != 3 || len(bare.Caches) != 0 || *bare.CPU != (machine.CPU{VectorBits: 128, ThreadsPerCore: 1}) {
		t.Errorf("of nothing %+v", bare)
	}
	for list, n := range map[string]int{"0": 1, "0-3,8": 5, "": 0, "3-1": 0, "a": 0} {
		if got := processors(list); got != n {
			t.Errorf("%q names %d, want %d", list, got, n)
		}
	}
}
