package features

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// fourCores have caches of 32 KiB and 1 MiB each, and 16 MiB together.
var fourCores = &machine.Machine{
	Kind: machine.KindCPU, Units: 4, CPU: &machine.CPU{VectorBits: 256, ThreadsPerCore: 1},
	Caches: []machine.Cache{
		{Name: "L1", Bytes: 32 << 10, PerUnit: true}, {Name: "L2", Bytes: 1 << 20, PerUnit: true},
		{Name: "L3", Bytes: 16 << 20},
	},
}

// loopKernels returns the kernels of a program on processors.
func loopKernels(t *testing.T, b *ir.Binding) []lower.Choice {
	t.Helper()
	list, err := lower.Choices(b.Program, lower.Options{Target: lower.CPU, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What caches keep follows from the sizes of blocks, halos and caches.
func TestBlocking(t *testing.T) {
	b := example(t, "heat3d", "M=256 N=512")
	domain := domainOf(b, b.Program.Calls[0])
	_, of := Describe(b, b.Program.Calls[0], fourCores, loopKernels(t, b)[0].Space)
	size := 8.0
	plane := func(y, x float64) float64 { return size * (3*(y+2)*(x+2) + y*x) } // of u and the result
	z, y, x := float64(domain[0]), float64(domain[1]), float64(domain[2])
	for text, wants := range map[string]map[string]float64{
		"block=0x0x0,threads=0": {
			"threads_share": 1, "cuts_x": 0, "cuts_y": 0, "cuts_z": 0, "shared_inner": 0, "chunks": math.Log2(z / 4),
			"balance": z / (math.Ceil(z/4) * 4), "cache_block_x": math.Log2(x), "row_bytes": math.Log2(8 * x),
			"planes_in_own": math.Log2(plane(y, x) / (1 << 20)), "planes_in_last": math.Log2(plane(y, x) / (4 << 20)),
			"rows_in_l1": math.Log2(8 * (9*(x+2) + x) / (32 << 10)), "halo_factor": 1, "covered_x": 1,
		},
		"block=0x8x0,threads=2": {
			"threads_share": 0.5, "cuts_y": math.Log2(math.Ceil(y / 8)), "cache_block_y": 3,
			"cache_block_z": math.Log2(z),
			"chunks":        math.Log2(math.Ceil(y/8) / 2), "planes_in_own": math.Log2(plane(8, x) / (1 << 20)),
			"planes_in_last": math.Log2(2 * plane(8, x) / (16 << 20)), "covered_y": y / (math.Ceil(y/8) * 8),
		},
		"block=0x0x64,threads=4": {"shared_inner": 1, "cache_block_x": 6, "row_bytes": 9},
		"block=4x8x64,threads=4": {"shared_inner": 0, "cache_block_z": 2},
	} {
		c, err := schedule.ParseConfig("family=loops," + text)
		if err != nil {
			t.Fatal(err)
		}
		got := named(t, OfBlocking, of.Of(c))
		for name, want := range wants {
			if math.Abs(got[name]-want) > 1e-9 {
				t.Errorf("%s of %s is %v, not %v", name, text, got[name], want)
			}
		}
	}
	loaded := func(text string) float64 {
		c, err := schedule.ParseConfig("family=loops,threads=0,block=" + text)
		if err != nil {
			t.Fatal(err)
		}
		return named(t, OfBlocking, of.Of(c))["loaded"]
	}
	// Where planes of blocks stay in a cache only halos are loaded twice; where they do not, u is for each plane.
	if small, whole := loaded("0x16x0"), loaded("0x0x0"); !(small > 1 && small < 1.2 && whole > 1.9 && whole < 2.1) {
		t.Errorf("loaded %v of blocks, %v of the whole", small, whole)
	}
}

// All programs have finite features on processors, also those of one dimension, and where nothing is known of the
// machine.
func TestBlockingIsNumbers(t *testing.T) {
	list, err := examples.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	rng, n := rand.New(rand.NewPCG(1, 2)), 0
	for _, f := range list {
		name, ok := strings.CutSuffix(f.Name(), ".loom")
		if !ok {
			continue
		}
		b := example(t, name, "")
		for _, call := range b.Program.Calls {
			for _, c := range loopKernels(t, b) {
				if c.Call != call.Name || c.Depth > 1 {
					continue
				}
				for _, m := range []*machine.Machine{fourCores, nil} {
					_, of := Describe(b, call, m, c.Space)
					for _, x := range c.Space.Sample(rng, 5) {
						named(t, of.Features(), of.Of(x))
						n++
					}
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d configurations", n)
	}
}
