package proof

import (
	"context"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
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
				"blur[1:2]@1{family=tile,block=4x32,vec=2,rows=2,shuffle=yes,sizes=literals,cse=yes}",
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
			Plan: "react[0:4]@1{family=tile,block=2x32,vec=2,repeat=1x4,load=plain,store=streaming,sizes=literals," +
				"cse=yes,registers=48,stages=1,staging=halos}",
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
		{
			// Tiles began with a line of the doubles that the last stage computes, and boxes of bytes within a run of
			// 16.
			Seed: 20380, Set: map[string]string{"L": "7", "N": "7"},
			Plan: "sweep[0:1]@1{family=cells,block=16x16};body[0:3]@3{family=planes,stream=t2,block=32,rows=1,vec=1," +
				"chunk=7,prefetch=1,stages=1,copy=tensor,unroll=2,columns=all,layout=padded,sizes=literals}",
			Source: `
iterator t2, t1;
parameter N;
parameter L;
byte p[N][L], v[N][L];
double q[N+1,-1:L], p3[N+1,-1:L];
function react (x, src3) {
  x[t2][t1] |= src3[t2][t1];
}
function sweep (y2, x3) {
  x3[t2][t1] = max(min(floor(y2[t2,t1]), 1), 1);
}
parameter T2 = 8;
iterate T2 {
  react (p, v);
  sweep (q, p3);
  rotate (p3, q);
}
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
		for _, mode := range []arith.Mode{arith.Strict, arith.Contract} {
			p := &pair{seed: f.Seed, mode: mode, plan: plan, free: true}
			if reason := p.simulate(context.Background(), sizes{set: f.Set, bound: b.In(mode)},
				&pairResult{}); reason != "" {
				t.Errorf("seed %d, %v: %s", f.Seed, mode, reason)
			}
		}
	}
}

// A program that PoCL computed wrong, because a branch on what threads had
// compared came right after a barrier, is computed right by it and under
// Oclgrind.
func TestFoundOnPoCL(t *testing.T) {
	if testing.Short() {
		t.Skip("PoCL's compiler is slow")
	}
	j, err := newCrossCheckers()
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if j.judgeSet.pocl == nil || j.judgeSet.oclgrind == nil {
		t.Skip(j.missing)
	}
	f := Failure{
		Seed: 3302, Mode: "strict", Set: map[string]string{"M": "84"},
		Plan: "family=tile,block=4x32,vec=2,rows=2,repeat=1x2,shuffle=no,load=plain,load_w=readonly,store=plain," +
			"sizes=literals,cse=yes,stages=1,staging=halos",
		Source: `
iterator t2, t1;
parameter M;
float w[M,0:M-1];
boundary w : antimirror on t2.low, periodic on t1.low, antimirror on t1.high;
double u[M][0:M-1];
byte q2[1..M+1];
boundary q2 : mirror on t1.low, reflect on t1.high;
stencil relax (inout:color) {
  color[t2][t1] /= 1.5 + abs(0.5*(0.1*(q2[t1-1] % 7)) - 0.2*color[t2][t1] + 0.8*0.5 + 0.9*w[t2-1][t1+1]);
}
[1..M-2, 2..5] : relax (u);
copyin u, q2, w;
copyout u;
`,
	}
	p, s, err := f.pair()
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.lower(s.bound, true, p.plan)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.expect(t.Context(), s.bound)
	if err != nil {
		t.Fatal(err)
	}
	h := &judgedRun{p, s, m, want}
	if fits, reason, err := j.onPoCL(t.Context(), methods[0], h); !fits || reason != "" || err != nil {
		t.Errorf("PoCL: %t, %q, %v", fits, reason, err)
	}
	if fits, reason, err := j.onOclgrind(t.Context(), h); !fits || reason != "" || err != nil {
		t.Errorf("Oclgrind: %t, %q, %v", fits, reason, err)
	}
	want.Grid("u").Data[1024] ^= 4
	if _, reason, err := j.onOclgrind(t.Context(), h); !strings.Contains(reason, "u: 1 of 7056 cells differ") ||
		err != nil {
		t.Errorf("Oclgrind sees nothing of another result: %q, %v", reason, err)
	}
}
