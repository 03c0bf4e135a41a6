package sim

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// The units in which a GPU moves data for a warp.
const (
	sectorBits = 5  // of 32 bytes
	lineBits   = 7  // of 128 bytes
	banks      = 32 // of shared memory, each of 4 bytes
)

// Traffic counts accesses to memory. Those to several elements at once count
// once. What follows the bytes is counted for kernels of blocks and threads,
// for each instruction of a warp on its own.
type Traffic struct {
	Loads, Stores            int64
	LoadedBytes, StoredBytes int64

	// Of global and constant memory: the aligned runs of 32 and of 128 bytes
	// that a warp's instruction touches, as if the first element of each buffer
	// began a line.
	LoadedSectors, StoredSectors int64
	LoadedLines, StoredLines     int64

	// Of shared memory: Wavefronts are the cycles that the banks take. Up to 4
	// bytes a thread, a warp is served at once, with 8 in halves, with 16 in
	// quarters; one cycle serves, in every bank, the threads that want one word.
	// Conflicts are the cycles beyond the first of each warp, half or quarter.
	Wavefronts, Conflicts int64

	// Remote are those of the loads and stores that go to the shared memory of
	// another block. They are not in Wavefronts.
	Remote int64
}

func (t *Traffic) add(o *Traffic) {
	t.Loads += o.Loads
	t.Stores += o.Stores
	t.LoadedBytes += o.LoadedBytes
	t.StoredBytes += o.StoredBytes
	t.LoadedSectors += o.LoadedSectors
	t.StoredSectors += o.StoredSectors
	t.LoadedLines += o.LoadedLines
	t.StoredLines += o.StoredLines
	t.Wavefronts += o.Wavefronts
	t.Conflicts += o.Conflicts
	t.Remote += o.Remote
}

// loaded counts a load of so many bytes by lanes, of which those in ok have
// cells.
func (w *warp) loaded(slot int32, mem *Memory, bytes int64, mask, ok uint32, cells *[lanes]int) {
	n := int64(bits.OnesCount32(mask))
	t := &w.m.counts.Buffers[slot]
	t.Loads += n
	t.LoadedBytes += n * bytes
	switch w.m.p.slots[slot].traffic {
	case linewise:
		sectors, lines := touched(ok, cells, mem.size)
		t.LoadedSectors += sectors
		t.LoadedLines += lines
	case bankwise:
		t.shared(mem == w.mem[slot], n, ok, cells, mem.size, bytes)
	}
}

// stored counts a store likewise.
func (w *warp) stored(slot int32, mem *Memory, bytes int64, mask, ok uint32, cells *[lanes]int) {
	n := int64(bits.OnesCount32(mask))
	t := &w.m.counts.Buffers[slot]
	t.Stores += n
	t.StoredBytes += n * bytes
	switch w.m.p.slots[slot].traffic {
	case linewise:
		sectors, lines := touched(ok, cells, mem.size)
		t.StoredSectors += sectors
		t.StoredLines += lines
	case bankwise:
		t.shared(mem == w.mem[slot], n, ok, cells, mem.size, bytes)
	}
}

// shared counts an access of n lanes to shared memory.
func (t *Traffic) shared(own bool, n int64, ok uint32, cells *[lanes]int, size, bytes int64) {
	if own {
		t.banked(ok, cells, size, bytes)
	} else {
		t.Remote += n
	}
}

// trafficKind says in which units a buffer's traffic is counted.
type trafficKind uint8

const (
	uncounted trafficKind = iota
	linewise
	bankwise
)

func trafficOf(s kernel.Space, gpu bool) trafficKind {
	switch {
	case !gpu:
		return uncounted
	case s == kernel.Global, s == kernel.Constant, s == kernel.Image, s == kernel.TensorMap:
		return linewise
	case s == kernel.Shared:
		return bankwise
	}
	return uncounted
}

// touched returns the number of sectors and lines that lanes access, each of
// them in one sector.
func touched(mask uint32, cells *[lanes]int, size int64) (sectors, lines int64) {
	var seen [lanes]int64
	n, last, most := 0, int64(-1), int64(-1)
	for ; mask != 0; mask &= mask - 1 {
		s := int64(cells[bits.TrailingZeros32(mask)&31]) * size >> sectorBits
		if s == last {
			continue
		}
		last = s
		if s > most {
			most = s
		} else if among(seen[:n], s) {
			continue
		}
		seen[n&31] = s
		n++
	}
	sectors = int64(n)
	k := 0
	most = -1
	for _, s := range seen[:n] {
		l := s >> (lineBits - sectorBits)
		if l > most {
			most = l
		} else if among(seen[:k], l) {
			continue
		}
		seen[k&31] = l // behind what is still to be read
		k++
	}
	return sectors, int64(k)
}

func among(list []int64, x int64) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// banked counts the cycles of an access to shared memory.
func (t *Traffic) banked(mask uint32, cells *[lanes]int, size, bytes int64) {
	group := lanes
	if bytes > 4 {
		group = int(lanes * 4 / bytes)
	}
	words := max(bytes/4, 1)
	for first := 0; first < lanes; first += group {
		part := mask & ((1<<group - 1) << first)
		if part == 0 {
			continue
		}
		n := cycles(part, cells, size, words)
		t.Wavefronts += n
		t.Conflicts += n - 1
	}
}

// cycles returns the largest number of different words that lanes want of one
// bank.
func cycles(mask uint32, cells *[lanes]int, size, words int64) int64 {
	var first [banks]int64    // the first word of each bank
	var wanted [banks]int64   // how many words of each
	var more [4 * lanes]int64 // the other words
	most, n := int64(1), 0
	for ; mask != 0; mask &= mask - 1 {
		at := int64(cells[bits.TrailingZeros32(mask)&31]) * size / 4
		for word := at; word < at+words; word++ {
			b := word & (banks - 1)
			switch {
			case wanted[b] == 0:
				first[b] = word
			case first[b] == word || wanted[b] > 1 && among(more[:n], word):
				continue
			default:
				more[n] = word
				n++
			}
			wanted[b]++
			most = max(most, wanted[b])
		}
	}
	return most
}
