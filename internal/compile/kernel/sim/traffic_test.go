package sim

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// pattern returns what a run counts at one load and one store by a warp of
// that many threads, each at an index made from its number t.
func pattern(t *testing.T, space, elem, index string, threads int64) Traffic {
	t.Helper()
	alloc, buffer := "", "(buffer b "+elem+" global inout (i64 4096))"
	if space == "shared" {
		alloc, buffer = "(alloc b "+elem+" shared (i64 4096))", ""
	}
	text := "(kernel k " + buffer + " (scalar n i64) (for g i64 block.x (i64 0) (i64 1) (i64 1) " + alloc +
		" (for t i64 thread.x (i64 0) n (i64 1) (let at i64 " + index + ") (store b at (cast " + elem +
		" t)) (let x " + elem + " (load b at)))))"
	k, err := kernel.ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	args := Args{Scalars: []op.Value{op.Int(types.I64, threads)}}
	for _, b := range k.Buffers {
		args.Buffers = append(args.Buffers, New(b.Elem, 4096))
	}
	r, err := Run(k, args, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Buffers[0]
}

func TestSectorsAndLines(t *testing.T) {
	for _, c := range []struct {
		what, elem, index string
		threads           int64
		sectors, lines    int64
	}{
		{"doubles in a row", "f64", "t", 32, 8, 2},
		{"floats in a row", "f32", "t", 32, 4, 1},
		{"bytes in a row", "u8", "t", 32, 1, 1},
		{"half a warp", "f64", "t", 16, 4, 1},
		{"two warps and a half", "f64", "t", 80, 8 + 8 + 4, 2 + 2 + 1},
		{"shifted by one float", "f32", "(add t (i64 1))", 32, 5, 2},
		{"shifted by one sector", "f64", "(add t (i64 4))", 32, 8, 3},
		{"every second", "f32", "(mul t (i64 2))", 32, 8, 2},
		{"one in a line", "f64", "(mul t (i64 16))", 32, 32, 32},
		{"all at one place", "f64", "(mul t (i64 0))", 32, 1, 1},
		{"backwards", "f64", "(sub (i64 31) t)", 32, 8, 2},
		{"to and fro between two lines", "f64", "(mul (rem t (i64 2)) (i64 16))", 32, 2, 2},
		{"columns of a tile of four rows", "f64", "(add (mul (rem t (i64 4)) (i64 64)) (div t (i64 4)))", 32, 8, 4},
	} {
		got := pattern(t, "global", c.elem, c.index, c.threads)
		if got.LoadedSectors != c.sectors || got.LoadedLines != c.lines || got.StoredSectors != c.sectors ||
			got.StoredLines != c.lines {
			t.Errorf("%s: %d sectors and %d lines loaded, %d and %d stored; want %d and %d", c.what,
				got.LoadedSectors, got.LoadedLines, got.StoredSectors, got.StoredLines, c.sectors, c.lines)
		}
		if got.Wavefronts != 0 || got.Conflicts != 0 {
			t.Errorf("%s: wavefronts of global memory", c.what)
		}
	}
}

func TestBankConflicts(t *testing.T) {
	for _, c := range []struct {
		what, elem, index     string
		threads               int64
		wavefronts, conflicts int64 // of one access
	}{
		{"floats in a row", "f32", "t", 32, 1, 0},
		{"floats anywhere in a row", "f32", "(add t (i64 7))", 32, 1, 0},
		{"a column of 32 floats", "f32", "(mul t (i64 32))", 32, 32, 31},
		{"a column of 33 floats", "f32", "(mul t (i64 33))", 32, 1, 0},
		{"every second float", "f32", "(mul t (i64 2))", 32, 2, 1},
		{"one float for all", "f32", "(mul t (i64 0))", 32, 1, 0},
		{"two words of one bank", "f32", "(mul (rem t (i64 2)) (i64 32))", 32, 2, 1},
		{"bytes of common words", "u8", "t", 32, 1, 0},
		{"doubles in a row", "f64", "t", 32, 2, 0},
		{"16 doubles", "f64", "t", 16, 1, 0},
		{"every second double", "f64", "(mul t (i64 2))", 32, 4, 2},
		{"a column of 16 doubles", "f64", "(mul t (i64 16))", 32, 32, 30},
		{"a column of 17 doubles", "f64", "(mul t (i64 17))", 32, 2, 0},
	} {
		got := pattern(t, "shared", c.elem, c.index, c.threads)
		if got.Wavefronts != 2*c.wavefronts || got.Conflicts != 2*c.conflicts {
			t.Errorf("%s: %d wavefronts and %d conflicts, want %d and %d",
				c.what, got.Wavefronts, got.Conflicts, 2*c.wavefronts, 2*c.conflicts)
		}
		if got.LoadedSectors != 0 || got.StoredLines != 0 {
			t.Errorf("%s: sectors of shared memory", c.what)
		}
	}
}

// Accesses of 16 bytes go in quarters of a warp, whose threads touch a sector
// for two of them.
func TestWideTraffic(t *testing.T) {
	k, err := kernel.ParseText(`(kernel k
	  (buffer u f64 global in (i64 64))
	  (buffer v f32 global out (i64 128))
	  (for b i64 block.x (i64 0) (i64 1) (i64 1)
	    (alloc s f64 shared (i64 1024))
	    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
	      (loads (x y) u (mul t (i64 2)))
	      (stores s (mul t (i64 2)) (x y))
	      (stores s (mul t (i64 16)) (x y))
	      (let f f32 (cast f32 x))
	      (stores v (mul t (i64 4)) (f f f f)))))`)
	if err != nil {
		t.Fatal(err)
	}
	u := New(types.F64, 64)
	for i := range 64 {
		u.Set(i, op.Float(types.F64, 1))
	}
	r, err := Run(k, Args{Buffers: []*Memory{u, New(types.F32, 128)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Traffic{
		{Loads: 32, LoadedBytes: 512, LoadedSectors: 16, LoadedLines: 4},
		{Stores: 32, StoredBytes: 512, StoredSectors: 16, StoredLines: 4},
		// 4 quarters without a conflict, then 4 of 8 threads that all want banks 0 to 3.
		{Stores: 64, StoredBytes: 1024, Wavefronts: 4 + 4*8, Conflicts: 4 * 7},
	}
	for i, w := range want {
		if r.Buffers[i] != w {
			t.Errorf("buffer %d: %+v, want %+v", i, r.Buffers[i], w)
		}
	}
	if r.Spaces[kernel.Global].LoadedSectors != 16 || r.Spaces[kernel.Shared].Conflicts != 28 {
		t.Errorf("spaces %+v", r.Spaces)
	}
}

// Whatever a warp touches, it is counted as by sets.
func TestTrafficIsThatOfSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int64{1, 4, 8}).Draw(t, "size")
		wide := rapid.SampledFrom([]int64{1, 2, 4}).Draw(t, "wide")
		bytes := min(size*wide, 16)
		wide = bytes / size
		mask := rapid.Uint32().Draw(t, "mask")
		stride := rapid.IntRange(0, 40).Draw(t, "stride")
		var cells [lanes]int
		for l := range cells {
			cells[l] = (l*stride + rapid.IntRange(0, 3).Draw(t, "off")) * int(wide)
		}
		sectors, lines, words := map[int64]bool{}, map[int64]bool{},
			map[int]map[int64]map[int64]bool{} // by group and bank
		for l := range lanes {
			if mask>>l&1 == 0 {
				continue
			}
			at := int64(cells[l]) * size
			sectors[at/32], lines[at/128] = true, true
			group := l * int(max(bytes, 4)) / 128
			if words[group] == nil {
				words[group] = map[int64]map[int64]bool{}
			}
			for w := at / 4; w <= (at+bytes-1)/4; w++ {
				if words[group][w%32] == nil {
					words[group][w%32] = map[int64]bool{}
				}
				words[group][w%32][w] = true
			}
		}
		var want Traffic
		for _, banks := range words {
			most := 0
			for _, b := range banks {
				most = max(most, len(b))
			}
			want.Wavefronts += int64(most)
			want.Conflicts += int64(most - 1)
		}
		var got Traffic
		got.banked(mask, &cells, size, bytes)
		if got != want {
			t.Errorf("%d bytes of elements of %d, mask %x, cells %v: %+v, want %+v",
				bytes, size, mask, cells, got, want)
		}
		if s, l := touched(mask, &cells, size); s != int64(len(sectors)) || l != int64(len(lines)) {
			t.Errorf("elements of %d, mask %x, cells %v: %d sectors and %d lines, want %d and %d",
				size, mask, cells, s, l, len(sectors), len(lines))
		}
	})
}
