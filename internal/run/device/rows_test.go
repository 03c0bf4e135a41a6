package device

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What is scattered is gathered again, and padding is left alone.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rows{Lead: rapid.Int64Range(0, 9).Draw(t, "lead"), Bytes: rapid.Int64Range(1, 9).Draw(t, "bytes"),
			Count: rapid.Int64Range(1, 5).Draw(t, "count")}
		r.Pitch = r.Bytes + rapid.Int64Range(0, 4).Draw(t, "padding")
		dense := rapid.SliceOfN(rapid.ByteMax(9), int(r.Bytes*r.Count), int(r.Bytes*r.Count)).Draw(t, "dense")
		padded := bytes.Repeat([]byte{Poison}, int(r.Padded()))
		r.Scatter(padded, dense)
		if poisoned := bytes.Count(padded, []byte{Poison}); poisoned != len(padded)-len(dense) {
			t.Fatalf("%d of %d bytes are padding", poisoned, len(padded))
		}
		for row := range r.Count {
			if padded[r.Lead+row*r.Pitch] != dense[row*r.Bytes] {
				t.Fatalf("row %d starts elsewhere", row)
			}
		}
		back := make([]byte, len(dense))
		r.Gather(back, padded)
		if !bytes.Equal(back, dense) {
			t.Fatal("not what was scattered")
		}
		if r.Dense() && !bytes.Equal(padded[:len(dense)], dense) {
			t.Fatal("dense memory is not the same on both sides")
		}
	})
}
