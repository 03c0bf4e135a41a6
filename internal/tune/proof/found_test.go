package proof

import (
	"context"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Pairs that once failed, as they were left when they had been made smaller.
func TestFound(t *testing.T) {
	t.Parallel()
	for _, f := range []Failure{
		{
			// A lane beyond the end of a row passed on what was no cell's value.
			Seed: 11122, Set: map[string]string{"M": "2", "N": "1"},
			Plan: "blur[0:1]@1{family=tile,block=32,vec=4};" +
				"blur[1:2]@1{family=stream,stream=y,chunk=4,planes=2,rotate=yes,shared=3,ahead=2,block=32,vec=2,x=shuffle,sizes=baked,share=yes}",
			Source: `
iterator y, x;
parameter N, M;
double w[N][1..M+1], q[N][1..M+1];
boundary w : constant(1);
stencil blur (inout:out, out2, alpha2) {
  double t = out2[y][1]*alpha2;
  out2[y][x] = t*out[y][x+1];
}
blur (w, q, 1);
`,
		},
		{
			// A grid with a boundary at one end of its rows had another with the same
			// cells do without what the latter has at its other end.
			Seed: 18280, Set: map[string]string{"N": "7"},
			Plan: "react[0:4]@1{family=stream,stream=j,chunk=0,planes=2,shared=2,stage=halos,block=32,vec=2,repeat=4,load=plain," +
				"store=streaming,sizes=baked,share=yes,registers=48}",
			Source: `
iterator j, i;
parameter N;
float p[N][N], p2[N][N];
boundary p2 : antimirror;
float w[N][-1:N], v[N][-1:N];
float v4[N][N], u[N][N];
boundary v4 : antimirror on i.low;
stencil react (y2, src2, inout:src3, src, out, y3) {
  out[j][i] = 1;
  y3[j][i] = y2[j][i-1]*src[j][i];
  src3[j][i] = 1;
  y3[j][i] += max(min(src2[j][i+1], 1), 1);
}
react (v4, p2, w, p, v, u);
`,
		},
	} {
		program, list := lang.Load(diag.NewSource("found.loom", f.Source))
		if list.HasErrors() {
			t.Fatal(list[0].Message)
		}
		b, list := program.Bind(f.Set)
		if list.HasErrors() {
			t.Fatal(list[0].Message)
		}
		plan, err := schedule.ParsePlan(f.Plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, strict := range []bool{true, false} {
			p := &pair{seed: f.Seed, strict: strict, plan: plan, free: true}
			if reason := p.simulate(context.Background(), sizes{set: f.Set, bound: b}, &verdict{}); reason != "" {
				t.Errorf("seed %d, strict %t: %s", f.Seed, strict, reason)
			}
		}
	}
}
