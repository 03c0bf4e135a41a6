package lower_test

import (
	"maps"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Memory is best placed so that the vectors of most accesses begin a cache line.
func TestFirstCells(t *testing.T) {
	tests := []struct {
		name, source, plan string
		target             lower.Target
		want               map[string]int64
	}{
		{
			name: "no boundary: the interior begins behind the halo",
			source: `parameter N = 9; iterator i; double u[N], v[N]; copyin u;
				stencil s (b, a) { b[i] = a[i-2] + a[i+1]; } s (v, u); copyout v;`,
			want: map[string]int64{"u": 2, "v": 2},
		},
		{
			name: "a boundary: cells at edges have a loop of their own",
			source: `parameter M = 4, N = 9; iterator j, i; double u[M,N], v[M,N]; boundary u : clamp; copyin u;
				stencil s (b, a) { b[j][i] = a[j][i-1] + a[j][i+1]; } s (v, u); copyout v;`,
			want: map[string]int64{"u": 1, "v": 1},
		},
		{
			name: "blocks begin with the loop's first cell",
			source: `parameter M = 4, N = 9; iterator j, i; double u[M,N], v[M,N]; boundary u : clamp; copyin u;
				stencil s (b, a) { b[j][i] = a[j][i-1] + a[j][i+1]; } s (v, u); copyout v;`,
			plan: "block=0x64",
			want: map[string]int64{},
		},
		{
			name: "grids that change places lie alike, as most accesses want it",
			source: `parameter N = 40; iterator i; double u[N], v[N]; copyin u; copyin v;
				stencil s (b, a) { b[i] = a[i-3] + a[i] + a[i+1]; } stencil t (b) { b[i] = 2*b[i]; }
				iterate 3 { s (v, u); t (v); swap (u, v); } copyout u; copyout v;`,
			want: map[string]int64{"u": 3, "v": 3},
		},
		{
			name: "a line has so many cells",
			source: `parameter N = 90; iterator i; float u[N], v[N]; copyin u;
				stencil s (b, a) { b[i] = a[i-17] + a[i]; } s (v, u); copyout v;`,
			want: map[string]int64{"u": 1, "v": 1},
		},
		{
			name: "GPUs place grids by layouts", target: lower.GPU,
			source: `parameter N = 9; iterator i; double u[N], v[N]; copyin u;
				stencil s (b, a) { b[i] = a[i-2] + a[i+1]; } s (v, u); copyout v;`,
			want: map[string]int64{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := lower.Options{Target: test.target, Plan: plan(t, test.plan)}
			m, err := lowered(load(t, "first", test.source), o)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for g, first := range m.FirstCells {
				got[g.Name] = first
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
