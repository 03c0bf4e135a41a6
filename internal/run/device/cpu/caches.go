package cpu

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// cacheLevel are the caches of one level.
type cacheLevel struct {
	level int
	line  int              // bytes of a line; 0 if not known
	sizes map[string]int64 // by the processors that share a cache
}

// cacheLevels returns the caches of data that the system tells of, under the root of a file system, nearest the
// arithmetic first.
func cacheLevels(root fs.FS) []cacheLevel {
	var list []cacheLevel
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/level")
	for _, f := range files {
		text := func(name string) string {
			b, _ := fs.ReadFile(root, path.Join(path.Dir(f), name))
			return strings.TrimSpace(string(b))
		}
		n, err := strconv.Atoi(text("level"))
		size := kilobytes(text("size"))
		if err != nil || size == 0 || text("type") == "Instruction" {
			continue
		}
		at, found := slices.BinarySearchFunc(list, n, func(c cacheLevel, n int) int { return c.level - n })
		if !found {
			line, _ := strconv.Atoi(text("coherency_line_size"))
			list = slices.Insert(list, at, cacheLevel{n, line, map[string]int64{}})
		}
		list[at].sizes[text("shared_cpu_list")] = size
	}
	return list
}

// bytes returns those of as many of the level's caches as there are threads at most.
func (c *cacheLevel) bytes(threads int) int64 {
	one := int64(0)
	for _, s := range c.sizes {
		one = max(one, s)
	}
	return int64(min(len(c.sizes), threads)) * one
}

// CacheBytes returns the bytes that the processor's caches keep from one sweep
// over a grid to the next, under the root of a file system: those of the last
// level, of as many of its caches as there are threads at most. It returns 0 if
// the system does not tell.
func CacheBytes(root fs.FS, threads int) int64 {
	if list := cacheLevels(root); len(list) > 0 {
		return list[len(list)-1].bytes(threads)
	}
	// Virtual machines may show no more than this.
	n, one := 0, int64(0)
	info, _ := fs.ReadFile(root, "proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "cache size" {
			n, one = n+1, kilobytes(strings.ReplaceAll(strings.TrimSpace(value), " KB", "K"))
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
