package lang

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// TestClash holds what the checker says of a read of the array that is written
// against the cells that are read, at all small sizes.
func TestClash(t *testing.T) {
	many(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 2).Draw(t, "rank")
		n := ir.ParamAffine(0)
		arr := &ir.Array{Name: "u", Type: types.F64}
		acc := &ir.Access{Array: arr}
		domain := ir.Unbounded(rank)
		kinds := rapid.IntRange(0, int(ir.Periodic))
		for axis := range rank {
			hi := rapid.SampledFrom([]ir.Affine{n.Add(-1), ir.Num(3), n}).Draw(t, "size")
			arr.Dims = append(arr.Dims, ir.Dim{Axis: axis, Hi: hi, Faces: ir.Faces{
				Low:  ir.Boundary{Kind: ir.BoundaryKind(kinds.Draw(t, "low"))},
				High: ir.Boundary{Kind: ir.BoundaryKind(kinds.Draw(t, "high"))},
			}})
			ix := ir.Index{Axis: axis, Offset: rapid.Int64Range(-3, 3).Draw(t, "offset")}
			if rapid.IntRange(0, 5).Draw(t, "constant") == 0 {
				ix = ir.Index{Axis: -1, Offset: rapid.Int64Range(0, 3).Draw(t, "plane")}
			}
			acc.Index = append(acc.Index, ix)
			switch rapid.IntRange(0, 3).Draw(t, "domain") {
			case 0:
				plane := ir.Num(rapid.Int64Range(0, 2).Draw(t, "at"))
				domain[axis] = ir.Range{Lo: []ir.Affine{plane}, Hi: []ir.Affine{plane}}
			case 1:
				domain[axis] = ir.Range{Lo: []ir.Affine{n.Add(-2)}, Hi: []ir.Affine{n.Add(-1)}}
			case 2:
				domain[axis] = ir.Range{Lo: []ir.Affine{ir.Num(1)}, Hi: []ir.Affine{n.Add(-2)}}
			}
		}
		st := &ir.Stmt{Array: arr, Domain: ir.InferDomain(rank, arr, false, acc, domain)}
		if rapid.Bool().Draw(t, "coloured") {
			st.Color = &ir.Color{Mod: rapid.Int64Range(2, 4).Draw(t, "mod")}
			for range rank {
				st.Color.Coef = append(st.Color.Coef, rapid.Int64Range(-2, 3).Draw(t, "coef"))
			}
			st.Color.Rem = rapid.Int64Range(0, st.Color.Mod-1).Draw(t, "rem")
		}
		said := (&callBuilder{}).clash(st, acc)
		for size := int64(1); size <= 7; size++ {
			if met := meets(st, acc, []int64{size}); met && said == never {
				t.Fatalf("at N = %d the read meets another cell that is written", size)
			}
		}
	})
}

// meets reports whether the statement reads a cell that it also writes, other
// than the one at hand.
func meets(st *ir.Stmt, acc *ir.Access, sizes []int64) bool {
	rank := len(st.Domain)
	at := make([]int64, rank)
	var walk func(axis int) bool
	walk = func(axis int) bool {
		if axis < rank {
			e := st.Domain[axis].Eval(sizes, ir.Extent{})
			for at[axis] = e.Lo; at[axis] <= e.Hi; at[axis]++ {
				if walk(axis + 1) {
					return true
				}
			}
			return false
		}
		if !colored(st, at) {
			return false
		}
		read, ok := cellRead(acc, at, sizes)
		same := true
		for a := range read {
			same = same && read[a] == at[a]
			e := st.Domain[a].Eval(sizes, ir.Extent{})
			ok = ok && read[a] >= e.Lo && read[a] <= e.Hi
		}
		return ok && !same && colored(st, read)
	}
	return walk(0)
}

func colored(st *ir.Stmt, at []int64) bool {
	if st.Color == nil {
		return true
	}
	sum := int64(0)
	for a, c := range st.Color.Coef {
		sum += c * at[a]
	}
	return ((sum-st.Color.Rem)%st.Color.Mod+st.Color.Mod)%st.Color.Mod == 0
}

// cellRead returns the cell that an access reads, if it reads one.
func cellRead(acc *ir.Access, at []int64, sizes []int64) ([]int64, bool) {
	read := make([]int64, len(at))
	for d, ix := range acc.Index {
		x := ix.Offset
		if ix.Axis >= 0 {
			x += at[ix.Axis]
		}
		dim := acc.Array.Dims[d]
		lo, hi := dim.Lo.Eval(sizes), dim.Hi.Eval(sizes)
		face := dim.Faces.High
		if x < lo {
			face = dim.Faces.Low
		}
		if x < lo || x > hi {
			if !maps(face) {
				return read, false
			}
			x, _ = ir.MapIndex(face.Kind, x, lo, hi)
		}
		read[d] = x
	}
	return read, true
}
