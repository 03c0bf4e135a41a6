package memory

// Place lays arrays of the given sizes out in one region and returns where
// each starts and the bytes in all. Arrays share no page, so that each can be
// protected on its own. They start at multiples of 64 KiB and then some lines
// further, each some more than the one before, so that equal cells of many
// arrays do not compete for the same few places of the first-level cache.
func Place(sizes []int64) (starts []int64, bytes int64) {
	const (
		page = 64 << 10
		step = 5 * 64
		wrap = 4096
	)
	starts = make([]int64, len(sizes))
	for i, size := range sizes {
		starts[i] = bytes + int64(i)*step%wrap
		bytes = (starts[i] + size + page - 1) / page * page
	}
	return starts, bytes
}
