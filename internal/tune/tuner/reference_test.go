package tuner

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Cells without a number on either side are not compared, and kernels of which
// nothing could be compared are not said to agree.
func TestOracleCountsNumbers(t *testing.T) {
	for _, test := range []struct {
		value string
		cells int64
		err   string
	}{
		{"in[j][i-1] + in[j][i+1]", 16 * 14, ""},
		{"i < 8 ? in[j][i-1] : sqrt(-1 - in[j][i+1])", 16 * 7, ""},
		{"sqrt(-1 - in[j][i-1] - in[j][i+1])", 0,
			"s: from values between 0 and 1 it computes no number in any cell, so that kernels cannot be checked"},
	} {
		b := program(t, `
parameter M = 16, N = 16;
iterator j, i;
double u[M,N], v[M,N];
stencil s (out, in) { out[j][i] = `+test.value+`; }
s (v, u);
`)
		s, err := newSubject(b, newScripted(t, b, smooth), false)
		if err != nil {
			t.Fatal(err)
		}
		o, err := newOracle(t.Context(), s.calls[0], b, true)
		if err != nil {
			t.Fatal(err)
		}
		var v measure.Values // of kernels that compute the same
		for _, g := range b.Program.Grids {
			v.Grids = append(v.Grids, slices.Clone(o.state.Grid(g.Name).Data))
		}
		cells, err := o.check(v)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if cells != test.cells || text != test.err {
			t.Errorf("%s: %d cells, %q; want %d, %q", test.value, cells, text, test.cells, test.err)
		}
	}
}
