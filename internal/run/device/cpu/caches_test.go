package cpu

import (
	"testing"
	"testing/fstest"
)

func TestCacheBytes(t *testing.T) {
	tree := func(entries ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for i := 0; i < len(entries); i += 2 {
			m[entries[i]] = &fstest.MapFile{Data: []byte(entries[i+1] + "\n")}
		}
		return m
	}
	index := func(cpu, i, level, kind, size, shared string) []string {
		dir := "sys/devices/system/cpu/cpu" + cpu + "/cache/index" + i + "/"
		return []string{dir + "level", level, dir + "type", kind, dir + "size", size, dir + "shared_cpu_list", shared}
	}
	var two []string // processors with an L3 each
	for cpu, shared := range map[string]string{"0": "0-1", "1": "0-1", "2": "2-3", "3": "2-3"} {
		two = append(two, index(cpu, "0", "1", "Data", "32K", cpu)...)
		two = append(two, index(cpu, "3", "3", "Unified", "16384K", shared)...)
		two = append(two, index(cpu, "4", "4", "Instruction", "99K", cpu)...)
	}
	for name, c := range map[string]struct {
		files   fstest.MapFS
		threads int
		want    int64
	}{
		"last level": {tree(two...), 4, 32 << 20},
		"one thread": {tree(two...), 1, 16 << 20},
		"information of Linux": {tree("proc/cpuinfo",
			"processor : 0\ncache size\t: 1024 KB\nprocessor : 1\ncache size\t: 1024 KB"), 2, 2 << 20},
		"nothing":                {tree(), 4, 0},
		"no numbers":             {tree(index("0", "0", "3", "Unified", "much", "0")...), 4, 0},
		"information in no unit": {tree("proc/cpuinfo", "cache size\t: 1024"), 2, 0},
	} {
		if got := CacheBytes(c.files, c.threads); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
