package kernel

// StaticShared is what a kernel's text can declare of shared memory, in bytes.
// A kernel that needs more declares none, and gets all of it at launch.
const StaticShared = 48 << 10

// SharedAlign returns what the first element of every shared buffer of a kernel is aligned to, in bytes.
func SharedAlign(k *Kernel) int64 {
	align := int64(16)
	WalkStmts(k.Body, func(s Stmt) {
		if _, ok := s.(*TensorCopy); ok {
			align = TensorPlaceUnit
		}
	}, nil)
	return align
}

// SharedOffsets returns where in a block's shared memory each Shared and
// Mbarrier buffer of a kernel starts, in bytes and in the order of their
// allocations, and the bytes of all of them. Their numbers of elements are
// literals.
func SharedOffsets(k *Kernel) (offsets map[*Buffer]int64, bytes int64) {
	offsets = map[*Buffer]int64{}
	align := SharedAlign(k)
	WalkStmts(k.Body, func(s Stmt) {
		a, ok := s.(*Alloc)
		if !ok || a.Buffer.Space != Shared && a.Buffer.Space != Mbarrier {
			return
		}
		offsets[a.Buffer] = bytes
		if uniform(a.Buffer.Cells, nil) { // else the verifier has refused it
			bytes += Eval(a.Buffer.Cells, nil).I * int64(a.Buffer.Elem.Size())
		}
		bytes = (bytes + align - 1) / align * align
	}, nil)
	return offsets, bytes
}

// DynamicShared returns the bytes of shared memory that a launch has to give
// each block: all that it needs if that is more than StaticShared, else none.
func DynamicShared(k *Kernel) int64 {
	if _, bytes := SharedOffsets(k); bytes > StaticShared {
		return bytes
	}
	return 0
}
