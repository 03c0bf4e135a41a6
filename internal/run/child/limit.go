package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitMemory sets how much address space a process may take, and those that it
// has started before it was told. Those that it starts later inherit the limit.
// It returns false if the process keeps a lower limit of the user's, or none
// could be set.
func limitMemory(pid int, bytes int64) bool {
	var old unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_AS, nil, &old) != nil || old.Cur <= uint64(bytes) {
		return false
	}
	limit := unix.Rlimit{Cur: uint64(bytes), Max: min(old.Max, uint64(bytes))}
	if unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil) != nil {
		return false
	}
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(list)) {
		if n, err := strconv.Atoi(word); err == nil {
			limitMemory(n, bytes)
		}
	}
	return true
}
