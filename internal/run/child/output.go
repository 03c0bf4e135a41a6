package child

import (
	"fmt"
	"sync"
)

// Output keeps the first and the last bytes of what is written to it.
type Output struct {
	First, Last int // bytes to keep

	mutex sync.Mutex
	first []byte
	last  []byte
	lost  int64
}

// Write implements io.Writer. It never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	n := len(p)
	if room := min(o.First-len(o.first), len(p)); room > 0 {
		o.first, p = append(o.first, p[:room]...), p[room:]
	}
	if len(p) > o.Last { // most of it is not kept
		o.lost += int64(len(p) - o.Last)
		p = p[len(p)-o.Last:]
	}
	o.last = append(o.last, p...)
	if extra := len(o.last) - o.Last; extra > 0 {
		o.lost += int64(extra)
		o.last = append(o.last[:0], o.last[extra:]...)
	}
	return n, nil
}

// String returns what was kept, and says between its parts how much was not.
func (o *Output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.lost == 0 || len(o.first) == 0 {
		return string(o.first) + string(o.last)
	}
	return fmt.Sprintf("%s\n... %d bytes are left out ...\n%s", o.first, o.lost, o.last)
}
