package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// reserved is the address space that a process takes besides grids: runtimes
// reserve much more than they use.
const reserved = 2 << 30

// AddressSpace returns the limit of the address space of a process; false if
// there is none.
func (s System) AddressSpace() (int64, bool) { return s.limit("Max address space") }

// withinLimit returns what the limit of address space leaves for grids, which
// this process and its workers map; false if there is no limit.
func (s System) withinLimit() (int64, bool) {
	limit, ok := s.AddressSpace()
	return limit - reserved, ok
}

// limit returns the soft limit of that name; false if there is none.
func (s System) limit(name string) (int64, bool) {
	data, err := os.ReadFile(filepath.Join(string(s), "proc/self/limits"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n, err == nil // "unlimited" is no number
		}
	}
	return 0, false
}

// few is a limit of threads below which it is worth counting what there is of
// them. Usual limits are tens of thousands.
const few = 4096

// CheckLimits says which limit of this process (ulimit -v, ulimit -u, a control
// group's) does not leave what the program takes even without grids, for a user on so many
// processors. Beyond it runtimes end without a useful message.
func (s System) CheckLimits(user, processors int) error {
	if limit, ok := s.AddressSpace(); ok && limit < reserved {
		return fmt.Errorf(
			"the limit of address space is %s (ulimit -v), and this program needs %s and the memory of its grids",
			Size(limit), Size(reserved))
	}
	// Of this process, a worker with its threads, and compilers.
	needs := int64(24 + 4*processors)
	if limit, ok := s.limit("Max processes"); ok && limit < few && user != 0 { // no limit holds for root
		if has := s.threads(user); has+needs > limit {
			return fmt.Errorf(
				"the limit of processes and threads is %d (ulimit -u), of which this user has %d, and this program "+
					"needs about %d", limit, has, needs)
		}
	}
	for _, g := range s.groups() {
		limit, ok := g.read("pids.max")
		has, known := g.read("pids.current")
		if ok && known && has+needs > limit {
			return fmt.Errorf(
				"the control group may have %d processes and threads (pids.max), and has %d; "+
					"this program needs about %d", limit, has, needs)
		}
	}
	return nil
}

// threads counts the threads of a user that are to be seen.
func (s System) threads(user int) int64 {
	list, _ := filepath.Glob(filepath.Join(string(s), "proc/[0-9]*/status"))
	total := int64(0)
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		owner, threads := -1, int64(0)
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			switch {
			case len(f) > 1 && f[0] == "Uid:":
				owner, _ = strconv.Atoi(f[1])
			case len(f) > 1 && f[0] == "Threads:":
				threads, _ = strconv.ParseInt(f[1], 10, 64)
			}
		}
		if owner == user {
			total += threads
		}
	}
	return total
}
