package memory

// Line is how many bytes a cache line has, and the widest vectors.
const Line = 64

// Span is an array in memory: its size, and how many bytes it starts behind a multiple of Line.
type Span struct{ Bytes, Phase int64 }

// Place lays arrays out in one region and returns where each starts and the
// bytes in all. Arrays share no page, so that each can be
// protected on its own. They start at multiples of 64 KiB and then some lines
// further, each some more than the one before, so that equal cells of many
// arrays do not compete for the same few places of the first-level cache.
func Place(arrays []Span) (starts []int64, bytes int64) {
	const (
		page = 64 << 10
		step = 5 * Line
		wrap = 4096
	)
	starts = make([]int64, len(arrays))
	for i, a := range arrays {
		starts[i] = bytes + int64(i)*step%wrap + a.Phase
		bytes = (starts[i] + a.Bytes + page - 1) / page * page
	}
	return starts, bytes
}
