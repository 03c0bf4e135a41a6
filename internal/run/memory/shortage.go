package memory

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Need is what one thing takes.
type Need struct {
	Name  string
	Bytes int64
}

// Shortage says that something does not fit into memory.
type Shortage struct {
	Needs     []Need
	Total     int64 // of all needs
	Available int64
	Capacity  int64 // what there were if nothing else ran; 0 if that is not known
	Limited   bool  // a limit of address space is what leaves no more
}

// Transient reports whether there may be enough at another time.
func (e *Shortage) Transient() bool { return e.Capacity == 0 || e.Total <= e.Capacity }

// Error says what would be needed, most first, and what there is.
func (e *Shortage) Error() string {
	needs := slices.Clone(e.Needs)
	slices.SortStableFunc(needs, func(a, b Need) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var parts []string
	const most = 5
	for i, n := range needs {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(needs)-most))
			break
		}
		parts = append(parts, n.Name+" "+Size(n.Bytes))
	}
	text := fmt.Sprintf("this needs %s of memory (%s), but ", Size(e.Total), strings.Join(parts, ", "))
	if e.Limited {
		return text + fmt.Sprintf("the limit of address space (ulimit -v) leaves %s", Size(e.Available))
	}
	return text + fmt.Sprintf("only %s is free", Size(e.Available))
}

// Check returns a *Shortage if the needs together exceed what is available.
// Where that cannot be found out, nothing is refused.
func (s System) Check(needs []Need) error {
	available, err := s.Available()
	if err != nil {
		return nil
	}
	var total int64
	for _, n := range needs {
		if n.Bytes > math.MaxInt64-total {
			total = math.MaxInt64
			break
		}
		total += n.Bytes
	}
	if total <= available {
		return nil
	}
	capacity, _ := s.Capacity() // 0 where it is not known
	room, ok := s.withinLimit()
	return &Shortage{Needs: needs, Total: total, Available: available, Capacity: capacity, Limited: ok &&
		max(room, 0) == available}
}

// Size prints a number of bytes for people: "1.5 GiB".
func Size(bytes int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if bytes < 1024 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	x := float64(bytes) / 1024
	unit := 0
	for x >= 1023.95 && unit < len(units)-1 {
		x /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}
