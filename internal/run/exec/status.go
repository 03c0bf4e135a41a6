package exec

import (
	"sync/atomic"
	"unsafe"
)

// status is a worker's progress while it is busy. It is in the shared region, so that writing it costs nothing, and
// it can be read at any time, even after the worker has died.
type status struct {
	running   atomic.Uint64 // call and launch under way, as place makes it; 0 for none
	launches  atomic.Int64  // started so far
	graphs    atomic.Int64  // that started some of them together
	leaves    atomic.Int64  // executed so far
	points    atomic.Int64  // of the calls executed so far
	completed atomic.Int64  // the cursor's
}

const statusBytes = int64(unsafe.Sizeof(status{}))

func statusAt(region []byte, start int64) *status {
	return (*status)(unsafe.Pointer(&region[start]))
}

// place encodes a launch of a call for running.
func place(call, launch int) uint64 { return uint64(call+1)<<32 | uint64(launch) }

// together is set in running if other launches were started with that one.
const together = 1 << 63

// what returns the names of the call and the kernel that run, "" for none, and whether others were launched with
// it. It accepts any contents, since generated code may have overwritten the status.
func (st *status) what(s *Script) (call, kernel string, others bool) {
	x := st.running.Load()
	others = x&together != 0
	x &^= together
	i, j := int(x>>32)-1, int(x&0xffffffff)
	if i < 0 || i >= len(s.Calls) || j >= len(s.Calls[i].Launches) {
		return "", "", false
	}
	return s.Calls[i].Name, s.Kernels[s.Calls[i].Launches[j].Kernel], others
}
