package synth

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// ran runs a program on the reference executor with random contents in all its
// inputs. It returns every grid's contents.
func ran(t *testing.T, name, text string, rng *rand.Rand) map[string][]float64 {
	t.Helper()
	b := bound(t, name, text).In(arith.Strict)
	s, err := interp.New(b, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]bool{"u": true, "t": true, "power": true, "c": name == "srad2"}
	grids := map[string][]float64{}
	for _, g := range b.Program.Grids {
		if a := s.Grid(g.Name); inputs[g.Name] {
			for i := range a.Len() {
				v := float64(rng.Float32()) + 0.25
				if a.Type == types.I32 {
					v = float64(rng.IntN(100000) - 50000)
				}
				a.Set(i, v)
			}
		}
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, g := range b.Program.Grids {
		a := s.Grid(g.Name)
		for i := range a.Len() {
			grids[g.Name] = append(grids[g.Name], a.At(i))
		}
	}
	return grids
}

var garveyTerm = regexp.MustCompile(
	`([0-9.e-]+)f\*\(?in\[z([+-]\d)?\]\[y([+-]\d)?\]\[x([+-]\d)?\]`)

// Garvey's kernels are sums of what their texts say, in the order of the terms,
// rounded after every operation.
func TestGarveyRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 104))
	for n, k := range IntenseKernels() {
		if n%29 > 0 || len(k.Cells()) > 400 {
			continue
		}
		p := k.program(k.Name())
		size := [3]int{p.least[0] + rng.IntN(4), p.least[1] + rng.IntN(5), p.least[2] + rng.IntN(6)}
		text := k.Source(size, "float", rng.Uint64())
		grids := ran(t, k.Name(), text, rng)
		terms := garveyTerm.FindAllStringSubmatch(text, -1)
		if len(terms) != len(k.Cells()) {
			t.Fatalf("%s has %d terms", k.Name(), len(terms))
		}
		number := func(text string) float64 {
			v, err := strconv.ParseFloat("0"+text, 64)
			if text != "" && text[0] != '0' {
				v, err = strconv.ParseFloat(text, 64)
			}
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		u := grids["u"]
		updated := 0
		at := -1
		for z := range size[0] {
			for y := range size[1] {
				for x := range size[2] {
					at++
					sum, inside := float32(0), true
					for i, m := range terms {
						cz, cy, cx := z+int(number(m[2])), y+int(number(m[3])), x+int(number(m[4]))
						if cz < 0 || cy < 0 || cx < 0 || cz >= size[0] || cy >= size[1] || cx >= size[2] {
							inside = false
							break
						}
						v := float32(u[(cz*size[1]+cy)*size[2]+cx])
						switch {
						case k.Adds == 2 && k.Muls == 2:
							v = float32(v*v) + v
						case k.Adds == 2:
							v += v
						case k.Muls == 2:
							v *= v
						}
						term := float32(float32(number(m[1])) * v)
						if i == 0 {
							sum = term
						} else {
							sum += term
						}
					}
					if !inside {
						sum = 0
					} else {
						updated++
					}
					if got := grids["next"][at]; got != float64(sum) {
						t.Fatalf("%s of %v at %d %d %d is %g, not %g", k.Name(), size, z, y, x, got, sum)
					}
				}
			}
		}
		if updated == 0 {
			t.Errorf("%s of %v updates no cell", k.Name(), size)
		}
	}
}

// liftCells says what the programs of Lift compute, from the cells around one:
// v returns a cell of the first grid, w one of the second.
var liftCells = map[string]func(v, w func(j, i int) float64) float64{
	"jacobi5": func(v, _ func(j, i int) float64) float64 {
		return v(0, 0) + 0.8*((v(-1, 0)+v(1, 0)+v(0, -1)+v(0, 1))/4-v(0, 0))
	},
	"jacobi9": func(v, _ func(j, i int) float64) float64 {
		sum := 0.0
		for n := range 9 {
			sum += []float64{1, 4, 1, 4, -20, 4, 1, 4, 1}[n] * v(n/3-1, n%3-1)
		}
		return v(0, 0) + 0.8*sum/20
	},
	"stencil2d": func(v, _ func(j, i int) float64) float64 {
		sum := 0.0
		for n := range 9 {
			sum += []float64{0.05, 0.11, 0.05, 0.11, 0.36, 0.11, 0.05, 0.11, 0.05}[n] * v(n/3-1, n%3-1)
		}
		return sum
	},
	"hotspot2d": func(t, power func(j, i int) float64) float64 {
		return t(0, 0) + 0.34*(power(0, 0)+0.31*(t(1, 0)+t(-1, 0)-2*t(0, 0))+0.23*(t(0, 1)+t(0, -1)-2*t(0, 0))+
			0.05*(0.8-t(0, 0)))
	},
	"gradient": func(v, _ func(j, i int) float64) float64 {
		return 1 / math.Sqrt(1e-4+squares(v)/2)
	},
	"srad1": func(v, _ func(j, i int) float64) float64 {
		length, laplacian := math.Sqrt(squares(v))/v(0, 0), (v(-1, 0)+v(1, 0)+v(0, -1)+v(0, 1)-4*v(0, 0))/v(0, 0)
		q := math.Sqrt((length*length/2 - laplacian*laplacian/16) / math.Pow(1+laplacian/4, 2))
		const q0 = 0.05
		return 1 / (1 + (q*q-q0)/(q0*(1+q0)))
	},
	"srad2": func(v, c func(j, i int) float64) float64 {
		return v(0, 0) + 0.5/4*(c(1, 0)*(v(1, 0)-v(0, 0))-c(0, 0)*(v(0, 0)-v(-1, 0))+
			c(0, 1)*(v(0, 1)-v(0, 0))-c(0, 0)*(v(0, 0)-v(0, -1)))
	},
	"gaussian": func(v, _ func(j, i int) float64) float64 {
		sum, all := 0.0, 0.0
		for n := range 25 {
			j, i := n/5-2, n%5-2
			weight := math.Exp(-float64(j*j+i*i) / 2)
			sum, all = sum+weight*v(j, i), all+weight
		}
		return sum / all
	},
}

// squares adds up the squares of the differences to the four sides.
func squares(v func(j, i int) float64) float64 {
	sum := 0.0
	for _, d := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
		sum += math.Pow(v(d[0], d[1])-v(0, 0), 2)
	}
	return sum
}

// clamped returns the cells of a grid around one.
func clamped(grid []float64, rows, columns, j, i int) func(dj, di int) float64 {
	return func(dj, di int) float64 {
		return grid[min(max(j+dj, 0), rows-1)*columns+min(max(i+di, 0), columns-1)]
	}
}

// Lift's programs compute what their sources say.
func TestLiftRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	grids := map[string][3]string{"hotspot2d": {"t", "power", "next"}, "gradient": {"u", "u", "g"},
		"srad1": {"u", "u", "c"}, "srad2": {"u", "c", "next"}, "gaussian": {"u", "u", "blurred"}}
	for _, p := range lift().Programs() {
		names, ok := grids[p.Name]
		if !ok {
			names = [3]string{"u", "u", "next"}
		}
		rows, columns := 3+rng.IntN(6), 3+rng.IntN(9)
		text, err := p.Source(Options{Size: []int{rows, columns}, Type: "double"})
		if err != nil {
			t.Fatal(err)
		}
		got := ran(t, p.Name, text, rng)
		for at, value := range got[names[2]] {
			j, i := at/columns, at%columns
			want := liftCells[p.Name](clamped(got[names[0]], rows, columns, j, i),
				clamped(got[names[1]], rows, columns, j, i))
			if math.Abs(value-want) > 1e-6*math.Abs(want) {
				t.Fatalf("%s of %dx%d at %d %d is %g, not %g", p.Name, rows, columns, j, i, value, want)
			}
		}
	}
}

var (
	borderRead = regexp.MustCompile(`(?m)^  \w+ (\w+) = in\[j([+-]\d+)?\]\[i([+-]\d+)?\];$`)
	borderTerm = regexp.MustCompile(`([0-9.]+)\*([csnew])\b`)
)

// Simple stencils of the generator are weighted sums of the ends of their
// borders, for integers modulo 2^32.
func TestOmniTuneRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 29))
	for _, name := range []string{
		"simple-n1-s10-e30-w30-int", "simple-n1-s2-e3-w0-float", "simple-n0-s0-e0-w0-double",
		"simple-n5-s0-e2-w7-int-double",
	} {
		b, err := ParseBorder(name)
		if err != nil {
			t.Fatal(err)
		}
		size := [2]int{6, 9}
		text := b.Source(size, 3)
		got := ran(t, name, text, rng)
		whole := func(text string) int {
			if text == "" {
				return 0
			}
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		cells := map[string][2]int{}
		for _, m := range borderRead.FindAllStringSubmatch(text, -1) {
			cells[m[1]] = [2]int{whole(m[2]), whole(m[3])}
		}
		for side, want := range map[string][2]int{
			"n": {-b.North, 0}, "s": {b.South, 0}, "e": {0, b.East}, "w": {0, -b.West},
		} {
			if got := cells[side]; got != want {
				t.Errorf("%s: %s is read at %v", name, side, got)
			}
		}
		terms := borderTerm.FindAllStringSubmatch(text, -1)
		if len(terms) != len(b.cells()) {
			t.Fatalf("%s has %d terms", name, len(terms))
		}
		for at, value := range got["next"] {
			v := clamped(got["u"], size[0], size[1], at/size[1], at%size[1])
			want := 0.0
			for _, m := range terms {
				weight, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				want += weight * v(cells[m[2]][0], cells[m[2]][1])
			}
			if math.Abs(value-want) > 1e-6*(math.Abs(want)+1) {
				t.Fatalf("%s at %d is %g, not %g", name, at, value, want)
			}
		}
	}
}
