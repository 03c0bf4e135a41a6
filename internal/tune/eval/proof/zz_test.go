package proof
import "testing"
func TestZZ(t *testing.T) {
	for _, seed := range []uint64{203, 221, 222, 300} {
		o := DAGOptions{}
		d := o.prove(t.Context(), seed)
		t.Log(seed, d.kind, d.refused, d.cells)
		if d.failure != nil { t.Error(d.failure) }
	}
}
