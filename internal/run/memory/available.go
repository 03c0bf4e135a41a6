package memory

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// System is where the machine describes itself: "/", or another root in tests.
type System string

// Available returns the bytes that can still be used without pushing anything
// out of memory: what the kernel says, or less if a control group that the
// process is in (a container, a batch job) or a limit of address space allows less.
func (s System) Available() (int64, error) {
	free, err := s.field("proc/meminfo", "MemAvailable:")
	if err != nil {
		return 0, err
	}
	available := free * 1024
	for _, g := range s.groups() {
		if room, ok := g.room(); ok {
			available = min(available, room)
		}
	}
	if room, ok := s.withinLimit(); ok {
		available = min(available, room)
	}
	return max(available, 0), nil
}

// Capacity returns the bytes that there are for this process, all others gone:
// what the machine has, or less if a control group or a limit allows less.
func (s System) Capacity() (int64, error) {
	kib, err := s.field("proc/meminfo", "MemTotal:")
	if err != nil {
		return 0, err
	}
	capacity := kib * 1024
	for _, g := range s.groups() {
		if limit, ok := g.read(g.limit); ok && limit < capacity {
			capacity = limit
		}
	}
	if room, ok := s.withinLimit(); ok {
		capacity = min(capacity, max(room, 0))
	}
	return capacity, nil
}

// Total returns the bytes of memory that this machine has, or 0 if it does not
// say.
func Total() int64 {
	kib, err := System("/").field("proc/meminfo", "MemTotal:")
	if err != nil {
		return 0
	}
	return kib * 1024
}

// field returns the number after a word at the start of a line.
func (s System) field(name, word string) (int64, error) {
	file, err := os.Open(filepath.Join(string(s), name))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 && f[0] == word {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", name, strings.TrimSuffix(word, ":"))
}

// group is one control group, and the files of its version that tell its
// limit, what is used of it, and what of that is only cache.
type group struct {
	system       System
	dir          string
	limit, usage string
	cache        string
}

// groups returns the control groups that limit the process's memory, of both
// versions, each with those around it.
func (s System) groups() []group {
	data, err := os.ReadFile(filepath.Join(string(s), "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	var out []group
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		g := group{s, "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
		switch {
		case f[0] == "0" && f[1] == "":
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			g = group{s, "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
				"total_inactive_file"}
		default:
			continue
		}
		root := g.dir
		for at := path.Clean("/" + f[2]); ; at = path.Dir(at) {
			g.dir = path.Join(root, at)
			out = append(out, g)
			if at == "/" {
				break
			}
		}
	}
	return out
}

// room returns how much more a group may use; false if it has no limit, or is
// not to be seen from here.
func (g group) room() (int64, bool) {
	limit, ok := g.read(g.limit)
	if !ok || limit > math.MaxInt64/2 {
		return 0, false
	}
	usage, ok := g.read(g.usage)
	if !ok {
		return 0, false
	}
	cache, err := g.system.field(path.Join(g.dir, "memory.stat"), g.cache)
	if err != nil {
		cache = 0
	}
	return limit - usage + cache, true
}

// read returns the number in one of a group's files; false if there is none.
func (g group) read(name string) (int64, bool) {
	data, err := os.ReadFile(filepath.Join(string(g.system), g.dir, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil // "max" is no number
}
