package examples

import (
	"image"
	_ "image/png"
	"math"
	"strings"
	"testing"
)

// photo returns the photograph that the examples read, from 0 to top.
func photo(t *testing.T, top float64) field {
	f, err := FS.Open("data/photo.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	gray := img.(*image.Gray)
	if gray.Rect.Max != image.Pt(150, 103) {
		t.Fatalf("the examples' sizes are not the photograph's, %v", gray.Rect)
	}
	return func(at ...int) float64 { return float64(gray.GrayAt(at[1], at[0]).Y) / 255 * top }
}

func TestBlur(t *testing.T) {
	prog := load(t, "blur", nil)
	// One white pixel becomes the window, rounded.
	w := []float64{0, 1, 4, 6, 4, 1, 0}
	dot := run(t, prog, "M=7 N=7 passes=1", map[string]field{"photo": pattern(3, 3, "#")})
	if d := dot.worst("photo",
		func(at ...int) float64 { return math.Floor((255*w[at[0]]*w[at[1]] + 128) / 256) }); d != 0 {
		t.Errorf("a white pixel's window is off by %g", d)
	}
	if d := run(t, prog, "M=3 N=4", map[string]field{"photo": constant(200)}).worst("photo", constant(200)); d != 0 {
		t.Errorf("a plain picture changes by %g", d)
	}
	sharp := run(t, prog, "passes=0", map[string]field{"photo": photo(t, 255)})
	soft := run(t, prog, "", map[string]field{"photo": photo(t, 255)})
	mean := func(m execution) float64 { return total(m.values("photo")) / (103 * 150) }
	near(t, "the mean", mean(soft), mean(sharp), 1)
	if a, b := roughness(sharp, "photo"), roughness(soft, "photo"); b > a/3 {
		t.Errorf("the roughness falls from %.3g to %.3g only", a, b)
	}
}

// roughness is the sum of squares of the differences along rows.
func roughness(m execution, grid string) float64 {
	shape, sum := m.Grid(grid).Shape, 0.0
	for n, v := range m.values(grid) {
		if n%shape[1] > 0 {
			sum += math.Pow(v-m.Grid(grid).At(n-1), 2)
		}
	}
	return sum
}

func TestCannyOnADisc(t *testing.T) {
	const size, radius = 61, 20
	disc := func(at ...int) float64 {
		if math.Hypot(float64(at[0])-30, float64(at[1])-30) < radius {
			return 0.9
		}
		return 0.1
	}
	prog := load(t, "canny", nil)
	edges := run(t, prog, "M=61 N=61", map[string]field{"photo": disc})
	count := 0
	seen := make([]bool, 72) // directions in which there is an edge
	for n, v := range edges.values("edges") {
		if v == 0 {
			continue
		}
		at := position([]int{size, size}, n)
		y, x := float64(at[0])-30, float64(at[1])-30
		if v != 255 || math.Abs(math.Hypot(x, y)-radius) > 1.5 {
			t.Errorf("edge %g at a distance of %.1f from the centre", v, math.Hypot(x, y))
		}
		count++
		seen[int((math.Atan2(y, x)+math.Pi)/(2*math.Pi)*72)%72] = true
	}
	// A thin circle has 8 r/sqrt(2) cells if its corners touch.
	if want := 8 * radius / math.Sqrt2; float64(count) < 0.95*want || float64(count) > 1.4*want {
		t.Errorf("the circle has %d cells, about %.0f are due", count, want)
	}
	for d, ok := range seen {
		if !ok {
			t.Errorf("the circle is open at %d degrees", 5*d)
		}
	}
	if plain := run(t, prog, "M=9 N=9", map[string]field{"photo": constant(0.5)}); total(plain.values("edges")) != 0 {
		t.Error("a plain picture has edges")
	}
}

// A step that fades from strong to weak is followed as far as it is weak; one
// that is weak everywhere is dropped.
func TestCannyHysteresis(t *testing.T) {
	fading := func(at ...int) float64 {
		height := 0.3 * (1 - float64(at[0])/100) // the slope is 2.5 times the height
		if at[1] < 30 {
			return 0
		}
		return height
	}
	prog := load(t, "canny", nil)
	count := func(f field) int {
		edges := run(t, prog, "M=80 N=60", map[string]field{"photo": f})
		rows := 0
		for j := range 80 {
			here := 0.0
			for i := range 60 {
				here += edges.at("edges", j, i)
			}
			if here > 0 {
				rows++
			}
		}
		return rows
	}
	slope := run(t, prog, "M=80 N=60", map[string]field{"photo": fading})
	strong, weak := 0, 0
	for j := range 80 {
		s := math.Max(slope.at("slope", j, 29), slope.at("slope", j, 30))
		if s >= 0.5 {
			strong++
		}
		if s >= 0.2 {
			weak++
		}
	}
	if strong < 5 || weak < strong+10 || weak > 75 {
		t.Fatalf("the test needs other heights: %d rows are strong, %d weak", strong, weak)
	}
	if got := count(fading); got < weak-2 || got > weak {
		t.Errorf("the edge is followed over %d rows, not %d", got, weak)
	}
	if got := count(func(at ...int) float64 { return 0.5 * fading(at...) }); got != 0 {
		t.Errorf("an edge that is weak everywhere is kept over %d rows", got)
	}
}

func TestCannyOnThePhotograph(t *testing.T) {
	edges := run(t, load(t, "canny", nil), "", map[string]field{"photo": photo(t, 1)})
	count := 0
	for _, v := range edges.values("edges") {
		if v != 0 && v != 255 {
			t.Fatalf("an edge is %g", v)
		}
		if v == 255 {
			count++
		}
	}
	// An edge is where the slope has a ridge across the gradient, whose
	// direction is one of four to the nearest.
	for n := range edges.Grid("edges").Len() {
		j, i := n/150, n%150
		slope := func(dj, di int) float64 { return edges.at("slope", min(max(j+dj, 0), 102), min(max(i+di, 0), 149)) }
		towards := [4][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}}
		angle := math.Atan2(edges.at("gy", j, i), edges.at("gx", j, i))
		d := towards[(int(math.Round(angle/(math.Pi/4)))+4)%4]
		ridge := slope(0, 0) > slope(d[0], d[1]) && slope(0, 0) >= slope(-d[0], -d[1])
		edge := edges.at("edges", j, i) == 255
		if edge && (!ridge || slope(0, 0) < 0.2) || !edge && ridge && slope(0, 0) >= 0.5 {
			t.Fatalf("cell %d, %d: edge %v, ridge %v, slope %g", j, i, edge, ridge, slope(0, 0))
		}
	}
	if share := float64(count) / (103 * 150); share < 0.03 || share > 0.2 {
		t.Errorf("%.3f of the photograph are edges", share)
	}
}

// variation is what the denoiser minimises.
func variation(m execution, fidelity, flat float64) float64 {
	shape, sum := m.Grid("u").Shape, 0.0
	for n := range m.Grid("u").Len() {
		at := position(shape, n)
		u := m.at("u", at...)
		dx := m.at("u", at[0], min(at[1]+1, shape[1]-1)) - u
		dy := m.at("u", min(at[0]+1, shape[0]-1), at[1]) - u
		sum += math.Sqrt(flat+dx*dx+dy*dy) + fidelity/2*math.Pow(u-m.at("noisy", at...), 2)
	}
	return sum
}

func TestDenoise(t *testing.T) {
	prog := load(t, "denoise", inDouble)
	picture := map[string]field{"photo": photo(t, 1)}
	error := func(m execution, grid string) float64 {
		sum := 0.0
		for n, v := range m.values("photo") {
			sum += math.Pow(v-m.Grid(grid).At(n), 2)
		}
		return math.Sqrt(sum / (103 * 150))
	}
	restored := run(t, prog, "", picture)
	if change := restored.scalar("change"); change >= 2e-4 {
		t.Errorf("it has not settled: %g", change)
	}
	if noisy, clean := error(restored, "noisy"), error(restored, "u"); clean > 0.6*noisy {
		t.Errorf("the error falls from %.4f to %.4f only", noisy, clean)
	}

	// The energy falls from step to step, and where it settles it is least:
	// any disturbance raises it.
	stop := func(steps string) execution {
		one := load(t, "denoise", strings.NewReplacer("float", "double", "check 10 max 2000", "max "+steps))
		return run(t, one, "M=24 N=20 change=1",
			map[string]field{"photo": func(at ...int) float64 { return photo(t, 1)(at[0]+30, at[1]+60) }})
	}
	last := math.Inf(1)
	for _, steps := range []string{"1", "2", "3", "5", "20", "100"} {
		energy := variation(stop(steps), 6, 1e-4)
		if energy >= last {
			t.Errorf("the energy rises from %.9g to %.9g at step %s", last, energy, steps)
		}
		last = energy
	}
	least := run(t, load(t, "denoise", strings.NewReplacer("float", "double", "change < 2e-4", "change < 1e-13",
		"max 2000", "max 20000")), "M=12 N=10",
		map[string]field{"photo": func(at ...int) float64 { return photo(t, 1)(at[0]+30, at[1]+60) }})
	energy := variation(least, 6, 1e-4)
	for n := range 12 * 10 {
		u := least.Grid("u").At(n)
		for _, d := range []float64{1e-4, -1e-4} {
			least.Grid("u").Set(n, u+d)
			if moved := variation(least, 6, 1e-4); moved <= energy {
				t.Fatalf("the energy at cell %d is not least: %.15g, beside it %.15g", n, energy, moved)
			}
		}
		least.Grid("u").Set(n, u)
	}
}
