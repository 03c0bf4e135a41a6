package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// clusterPlans are ways in which the blocks of a cluster compute one tile.
var clusterPlans = []string{
	"block=4x32,cells=2x1,chunk=7,cluster=2",
	"block=4x32,cells=3x2,chunk=0,barrier=whole,cluster=2",
	"block=2x32,cells=2x2,chunk=16,stages=0,cluster=4",
	"block=1x32,cells=4x1,chunk=7,cluster=4",
	"block=2x32,cells=6x2,chunk=0,persistent=1,cluster=2",
	"block=6x32,cells=2x1,chunk=0,persistent=3,barrier=whole,cluster=2,sizes=literals",
	"block=2x32,cells=5x2,chunk=6,rims=step,rimvec=1,cluster=2,sizes=literals",
	"block=4x32,cells=4x2,chunk=0,stages=4,persistent=2,cluster=4,sizes=literals",
}

// The cells of a tile that several blocks compute have the bits that the reference executor computes: in domains
// smaller than a block, of several tiles and a part of one, with all boundaries, at any depth.
func TestPipeClusters(t *testing.T) {
	programs := []spanProgram{
		{name: "rims of two cells", text: radiusTwo, leaves: 2, axes: 3},
		{name: "rims that differ", text: strings.Replace(fmt.Sprintf(rimText, "double", 2, 2, 1, 4), "iterate 5",
			"iterate T", 1), leaves: 2, axes: 3},
	}
	for _, p := range spanPrograms {
		if p.axes == 3 {
			programs = append(programs, p)
		}
	}
	sizes := []string{"L=1 M=1 N=1", "L=3 M=5 N=2", "L=5 M=7 N=11", "L=7 M=31 N=37", "L=11 M=53 N=43", "L=19 M=23 N=67"}
	for i, prog := range programs {
		t.Run(prog.name, func(t *testing.T) {
			t.Parallel()
			right := 0
			for n, way := range clusterPlans {
				for depth := 2; depth <= 4; depth++ {
					if !*whole && depth == 2+(n+i)%3 { // two depths each
						continue
					}
					size := sizes[(n+i+depth)%len(sizes)]
					steps := fmt.Sprintf("iterate %d", 2*depth+1)
					b, list := load(t, "span", strings.Replace(prog.text, "iterate T", steps, 1)).Bind(settings(size))
					if list.HasErrors() {
						continue // too small for the stencil
					}
					text := fmt.Sprintf("body[0:%d]@%d{family=pipe,%s}", prog.leaves, depth, way)
					err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(n+depth))
					switch {
					case err == nil:
						right++
					case strings.Contains(err.Error(), "cells of halos"),
						strings.Contains(err.Error(), "boundaries, and the"),
						strings.Contains(err.Error(), "rows of a neighbouring thread"):
					default:
						t.Errorf("%s, %s: %v", size, text, err)
					}
				}
			}
			if right < 6 {
				t.Errorf("only %d were right", right)
			}
		})
	}
}

const radiusTwo = `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
boundary u, v : clamp on k, reflect on j;
copyin u, v;
stencil s (out, in) {
  out[k][j][i] = 0.3*in[k][j][i] + 0.2*in[k-2][j][i] + 0.1*in[k+1][j][i] + 0.15*in[k][j-2][i] - 0.05*in[k][j+2][i]
    + 0.25*in[k][j][i-2] - 0.1*in[k][j][i+1] + 0.02*in[k][j+1][i];
}
iterate T { s (v, u); swap (v, u); }
copyout u, v;
`

// Devices without clusters do not take the parameter, and neither do kernels of two axes.
func TestPipeClustersRefused(t *testing.T) {
	for _, c := range []struct {
		axes  int
		lacks []machine.Capability
		want  string
	}{
		{3, nil, ""},
		{3, []machine.Capability{machine.Cluster}, "cluster"},
		{2, nil, "cluster"},
	} {
		name := map[int]string{2: "rims that differ", 3: "star in 3D"}[c.axes]
		for _, p := range spanPrograms {
			if p.name != name {
				continue
			}
			b := bind(t, load(t, "span", strings.Replace(p.text, "iterate T", "iterate 7", 1)),
				map[int]string{2: "M=30 N=40", 3: "L=9 M=30 N=40"}[c.axes])
			_, err := lower.Program(b.Program, lower.Options{
				Target: lower.GPU, Bound: b, Sized: true, Lacks: c.lacks,
				Plan: plan(t, "body[0:2]@2{family=pipe,cluster=2}"),
			})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d axes, without %v: %v", c.axes, c.lacks, err)
			}
		}
	}
}
