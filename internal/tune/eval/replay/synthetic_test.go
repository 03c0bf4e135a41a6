package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// pretended returns a recording of a kernel that does not exist: a mixture of what
// makes kernels on GPUs fast or slow, with constants drawn from a seed.
func pretended(seed uint64) *Recording {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &Recording{Name: fmt.Sprintf("pretended-%d", seed)}
	param := func(name string, values ...int64) {
		p := Param{Name: name, Default: -1}
		for _, v := range values {
			p.Values = append(p.Values, Whole(v))
		}
		r.Params = append(r.Params, p)
	}
	switch rng.IntN(3) {
	case 0:
		param("block_x", 16, 32, 64, 96, 128, 192, 256, 512)
	case 1:
		param("block_x", 8, 16, 32, 64, 128, 256)
	default:
		param("block_x", 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384)
	}
	param("block_y", 1, 2, 4, 8, 16)
	param("tile_x", 1, 2, 3, 4, 6, 8)
	param("tile_y", 1, 2, 3, 4, 5, 6, 7, 8)
	param("unroll", 1, 2, 4, 8)
	param("shared", 0, 1)
	if rng.IntN(2) == 0 {
		param("vector", 1, 2, 4)
	} else {
		param("order", 0, 1, 2, 3, 4)
	}
	param("fixed", 15)

	uniform := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	radius := float64(rng.IntN(7) + 1)
	perCell := uniform(8, 24)
	work := uniform(0.2, 1.5)
	reuse := uniform(0.2, 0.9)
	sharedGain := uniform(-0.3, 0.8)
	rough := uniform(0.01, 0.06)
	regBase, regCell := uniform(16, 40), uniform(3, 8)
	favourite := uniform(3, 8) // log2 of the best extent of a row
	last := make([]float64, 5) // how good the last parameter's values are
	for i := range last {
		last[i] = uniform(0.85, 1.3)
	}
	best := rng.IntN(4)
	crash := uniform(0.5, 8) // what a failed launch costs

	config := make([]uint16, len(r.Params))
	value := func(i int) float64 { return r.Params[i].Values[config[i]].number }
	var choose func(i int)
	choose = func(i int) {
		if i < len(config) {
			for v := range r.Params[i].Values {
				config[i] = uint16(v)
				choose(i + 1)
			}
			return
		}
		bx, by, tx, ty, un, sh, la := value(0), value(1), value(2), value(3), value(4), value(5), value(6)
		threads := bx * by
		store := (bx*tx + 2*radius) * (by*ty + 2*radius) * 4 * sh
		if threads < 32 || threads > 1024 || store > 48<<10 || math.Mod(ty, un) != 0 && un > 1 {
			return
		}
		t := Trial{Config: append([]uint16(nil), config...), Cost: Cost{Compile: 0.4 + 0.05*un*tx*ty*uniform(0.8, 1.2),
			Framework: 0.002}}
		registers := regBase + regCell*tx*math.Sqrt(ty) + 2*un
		if registers*threads > 65536 && rng.Float64() < 0.8 || registers > 255 {
			t.Failure = "RuntimeFailedConfig"
			t.Cost.Compile += crash
			r.Trials = append(r.Trials, t)
			return
		}
		perSM := math.Min(math.Floor(65536/(math.Ceil(registers/8)*8*threads)), math.Floor(2048/threads))
		if store > 0 {
			perSM = math.Min(perSM, math.Floor(98304/store))
		}
		occupancy := math.Max(1, perSM) * threads / 2048
		waste := math.Ceil(threads/32) * 32 / threads
		halo := (1 + 2*radius*reuse/(bx*tx)) * (1 + 2*radius*reuse/(by*ty))
		coalesced := 1 + 0.5*math.Max(0, 5-math.Log2(bx)) + 0.15*math.Abs(math.Log2(bx*tx)-favourite)
		memory := perCell * halo * coalesced / math.Min(1, 0.35+occupancy*math.Sqrt(tx*ty))
		if sh == 1 {
			memory *= 1 - sharedGain*radius/(radius+4)
			if math.Mod(bx, 32) == 0 && math.Mod(tx, 2) == 0 {
				memory *= 1.25 // bank conflicts
			}
		}
		compute := work * radius * 4 * (1 + 0.6/un + 0.02*un*un) * waste / math.Min(1, 0.25+occupancy*math.Sqrt(tx*ty))
		ms := math.Pow(math.Pow(memory, 3)+math.Pow(compute, 3), 1.0/3) / 8
		ms *= last[int(la)%5] * math.Exp(rough*rng.NormFloat64())
		if int(la) == best && sh == 1 {
			ms *= 0.93
		}
		t.Seconds = ms / second
		t.Cost.Runs = 32 * t.Seconds
		r.Trials = append(r.Trials, t)
	}
	choose(0)
	return r
}

// tables returns a recording whose times are a sum of tables: one for each
// parameter and for some pairs of them, smooth in numbers.
func tables(seed uint64) *Recording {
	rng := rand.New(rand.NewPCG(seed, 2))
	r := &Recording{Name: fmt.Sprintf("tables-%d", seed)}
	counts := []int{2, 2, 3, 5, 8, 12, 4}
	rng.Shuffle(len(counts), func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
	for i, n := range counts {
		p := Param{Name: fmt.Sprintf("p%d", i), Default: -1}
		for v := range n {
			p.Values = append(p.Values, Whole(int64(1)<<v))
		}
		r.Params = append(r.Params, p)
	}
	walk := func(n int, scale float64) []float64 {
		out := make([]float64, n)
		x := 0.0
		for i := range out {
			x += scale * rng.NormFloat64()
			out[i] = x
		}
		return out
	}
	single := make([][]float64, len(counts))
	for i, n := range counts {
		single[i] = walk(n, math.Exp(rng.NormFloat64())*0.15)
	}
	type pair struct {
		a, b  int
		table [][]float64
	}
	var pairs []pair
	for range 5 {
		p := pair{a: rng.IntN(len(counts)), b: rng.IntN(len(counts))}
		for range counts[p.a] {
			p.table = append(p.table, walk(counts[p.b], 0.12))
		}
		pairs = append(pairs, p)
	}
	config := make([]uint16, len(counts))
	var choose func(i int)
	choose = func(i int) {
		if i < len(config) {
			for v := range counts[i] {
				config[i] = uint16(v)
				choose(i + 1)
			}
			return
		}
		if (int(config[0])+2*int(config[1])+int(config[2]))%4 == 3 {
			return
		}
		x := 0.03 * rng.NormFloat64()
		for i, v := range config {
			x += single[i][v]
		}
		for _, p := range pairs {
			x += p.table[config[p.a]][config[p.b]]
		}
		t := Trial{Config: append([]uint16(nil), config...), Seconds: 2e-3 * math.Exp(x), Cost: Cost{Compile: 1}}
		t.Cost.Runs = 32 * t.Seconds
		r.Trials = append(r.Trials, t)
	}
	choose(0)
	return r
}
