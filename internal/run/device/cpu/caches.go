package cpu

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// CacheBytes returns the bytes that the processor's caches keep from one sweep
// over a grid to the next, under the root of a file system: those of the last
// level, of as many of its caches as there are threads at most. It returns 0 if
// the system does not tell.
func CacheBytes(root fs.FS, threads int) int64 {
	level, sizes := 0, map[string]int64{} // by the processors that share the cache
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/level")
	for _, f := range files {
		text := func(name string) string {
			b, _ := fs.ReadFile(root, path.Join(path.Dir(f), name))
			return strings.TrimSpace(string(b))
		}
		n, err := strconv.Atoi(text("level"))
		size := kilobytes(text("size"))
		if err != nil || size == 0 || n < level || text("type") == "Instruction" {
			continue
		}
		if n > level {
			level, sizes = n, map[string]int64{}
		}
		sizes[text("shared_cpu_list")] = size
	}
	n, one := len(sizes), int64(0)
	for _, s := range sizes {
		one = max(one, s)
	}
	if n == 0 { // virtual machines may show no more than this
		info, _ := fs.ReadFile(root, "proc/cpuinfo")
		for line := range strings.Lines(string(info)) {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "cache size" {
				n, one = n+1, kilobytes(strings.ReplaceAll(strings.TrimSpace(value), " KB", "K"))
			}
		}
	}
	return int64(min(n, threads)) * one
}

// kilobytes reads "512K".
func kilobytes(text string) int64 {
	number, found := strings.CutSuffix(text, "K")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n < 0 {
		return 0
	}
	return n << 10
}
