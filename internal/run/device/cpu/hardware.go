package cpu

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// hardware describes processors by what the system tells under the root of a file system: their caches and how
// many threads a core has. Features are what a processor can do, as the system lists it. How fast anything is the
// system does not tell. A cache that some of the processors share is counted with the others of its level.
func hardware(root fs.FS, name string, threads int, features []string) *machine.Machine {
	m := &machine.Machine{
		Name: name, Kind: machine.KindCPU, Source: "what the system tells",
		CPU: &machine.CPU{VectorBits: vectorBits(features), ThreadsPerCore: threadsPerCore(root)},
	}
	m.Units = max(1, threads/m.CPU.ThreadsPerCore)
	for _, c := range cacheLevels(root) {
		own := true // one for every core
		for shared := range c.sizes {
			own = own && processors(shared) <= m.CPU.ThreadsPerCore
		}
		level := machine.Cache{Name: fmt.Sprintf("L%d", c.level), PerUnit: own, LineBytes: c.line}
		if level.Bytes = c.bytes(threads); own {
			level.Bytes = c.bytes(1)
		}
		m.Caches = append(m.Caches, level)
	}
	return m
}

// vectorBits returns the width of the vectors that a processor's features promise: 128 if they promise none.
func vectorBits(features []string) int {
	switch {
	case slices.Contains(features, "avx512f"):
		return 512
	case slices.Contains(features, "avx"):
		return 256
	}
	return 128
}

// threadsPerCore returns how many threads a core has: 1 if the system does not tell.
func threadsPerCore(root fs.FS) int {
	b, _ := fs.ReadFile(root, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
	return max(1, processors(strings.TrimSpace(string(b))))
}

// processors returns how many a list like "0-3,8" names; 0 for what is none.
func processors(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, found := strings.Cut(part, "-")
		if !found {
			last = first
		}
		lo, err := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || hi < lo {
			return 0
		}
		n += hi - lo + 1
	}
	return n
}
