package interp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// bind reads a program's text form and binds it, with values as in "N=5 a=0.1".
func bind(t testing.TB, text, set string) *ir.Binding {
	t.Helper()
	p, err := ir.ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, s := range strings.Fields(set) {
		name, value, _ := strings.Cut(s, "=")
		values[name] = value
	}
	b, errs := p.Bind(values)
	if errs != nil {
		t.Fatal(errs[0].Message)
	}
	return b
}

func start(t testing.TB, text, set string, o interp.Options) *interp.State {
	t.Helper()
	s, err := interp.New(bind(t, text, set), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, s *interp.State) {
	t.Helper()
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func fillGrid(s *interp.State, name string, values ...float64) {
	a := s.Grid(name)
	for i := range a.Len() {
		a.Set(i, values[i%len(values)])
	}
}

func values(s *interp.State, name string) string {
	a := s.Grid(name)
	all := make([]float64, a.Len())
	for i := range all {
		all[i] = a.At(i)
	}
	return fmt.Sprint(all)
}

func expect(t *testing.T, s *interp.State, name, want string) {
	t.Helper()
	if got := values(s, name); got != "["+want+"]" {
		t.Errorf("%s is %s, want [%s]", name, got, want)
	}
}

// line is a program over one axis: out[i] = value, on lo..hi, u with a
// boundary.
func line(faces, value, lo, hi string) string {
	return fmt.Sprintf(`(program line
	  (axes i) (arithmetic contract) (param N)
	  (scalar c f64 argument used (init (f64 9)))
	  (grid u f64 copyin (dim i 0 N-1 %s))
	  (grid out f64 copyout (dim i 0 N-1))
	  (stage s
	    (array out written (grid out))
	    (array u read (grid u))
	    (set out (over i) (domain (i (lo %s) (hi %s))) %s))
	  (body (run s)))`, faces, lo, hi, value)
}

func TestBoundaries(t *testing.T) {
	// u is 1 2 3 ...; out[i] = 10*u[i-l] + u[i+r].
	value := func(l, r int) string {
		return fmt.Sprintf("(add (mul (f64 100) (load u i-%d)) (load u i+%d))", l, r)
	}
	both := func(kind string) string { return "(low " + kind + ") (high " + kind + ")" }
	for _, c := range []struct {
		faces string
		n     int
		reach int
		want  string
	}{
		{both("clamp"), 4, 1, "102 103 204 304"},
		{both("clamp"), 3, 5, "103 103 103"},
		{both("clamp"), 1, 2, "101"},
		{both("periodic"), 4, 1, "402 103 204 301"},
		{both("periodic"), 3, 4, "302 103 201"},
		{both("periodic"), 1, 3, "101"},
		{both("mirror"), 4, 1, "102 103 204 304"},
		{both("mirror"), 4, 2, "203 104 104 203"},
		{both("mirror"), 3, 4, "302 301 201"}, // 1 2 3 3 2 1 | 1 2 3 | 3 2 1 1 2 3
		{both("mirror"), 1, 2, "101"},
		{both("reflect"), 4, 1, "202 103 204 303"},
		{both("reflect"), 3, 4, "101 202 303"}, // period 4
		{both("reflect"), 2, 3, "202 101"},
		{both("reflect"), 1, 2, "101"},
		{both("antimirror"), 4, 1, "-98 103 204 296"},
		{both("antimirror"), 3, 4, "298 -301 -199"}, // ... 3 -3 -2 -1 | 1 2 3 | -3 -2 -1 1 ...
		{both("antimirror"), 1, 2, "101"},
		{both("antireflect"), 4, 1, "-198 103 204 297"},
		{both("antireflect"), 3, 3, "198 -301 -198"}, // ... 2 -3 -2 | 1 2 3 | -2 -1 2 ...
		{both("antireflect"), 1, 2, "101"},
		{both("constant (scalar c)"), 4, 1, "902 103 204 309"},
		{both("constant (f64 -1)"), 2, 7, "-101 -101"},
		{"(low clamp) (high constant (f64 0))", 3, 1, "102 103 200"},
		{"(low periodic) (high reflect)", 3, 1, "302 103 202"},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", c.faces, c.n, c.reach), func(t *testing.T) {
			s := start(t, line(c.faces, value(c.reach, c.reach), "0", "N-1"), fmt.Sprintf("N=%d", c.n),
				interp.Options{})
			fillGrid(s, "u", 1, 2, 3, 4)
			run(t, s)
			expect(t, s, "out", c.want)
		})
	}
}

func TestNoneKeepsTheRim(t *testing.T) {
	s := start(t, line("", "(add (load u i-1) (load u i+1))", "1", "N-2"), "N=5", interp.Options{})
	fillGrid(s, "u", 1, 2, 3, 4, 5)
	fillGrid(s, "out", -7)
	run(t, s)
	expect(t, s, "out", "-7 4 6 8 -7")
}

// Corners: axis by axis in the iterators' order. The first constant wins, over
// signs too; the signs of two anti-conditions multiply.
func TestBoundariesOfTwoAxes(t *testing.T) {
	text := func(k, i string) string {
		return fmt.Sprintf(`(program plane
		  (axes k i)
		  (grid u f64 (dim k 0 1 %s) (dim i 0 1 %s))
		  (grid out f64 (dim k 0 1) (dim i 0 1))
		  (stage s (array out written (grid out)) (array u read (grid u))
		    (set out (over k i) (domain (k (lo 0) (hi 1)) (i (lo 0) (hi 1))) (load u k-1 i-1)))
		  (body (run s)))`, k, i)
	}
	for _, c := range []struct{ k, i, want string }{
		{"(low constant (f64 8))", "(low constant (f64 9))", "8 8 9 1"},
		{"(low antimirror)", "(low antimirror)", "1 -1 -1 1"},
		{"(low antimirror)", "(low constant (f64 9))", "9 -1 9 1"},
		{"(low constant (f64 9))", "(low antimirror)", "9 9 -1 1"},
		{"(low periodic)", "(low clamp)", "3 3 1 1"},
	} {
		s := start(t, text(c.k, c.i), "", interp.Options{})
		fillGrid(s, "u", 1, 2, 3, 4)
		run(t, s)
		expect(t, s, "out", c.want)
	}
}

func TestSwapKeepsEachRim(t *testing.T) {
	s := start(t, `(program swap
	  (axes i)
	  (grid a f64 (dim i 0 4)) (grid b f64 (dim i 0 4))
	  (stage s (array out written (grid b)) (array in read (grid a))
	    (set out (over i) (domain (i (lo 1) (hi 3))) (add (load in i-1) (load in i+1))))
	  (body (iterate (i32 3) (run s) (rotate a b))))`, "", interp.Options{})
	fillGrid(s, "a", 1, 0, 0, 0, 2)
	fillGrid(s, "b", 5, 0, 0, 0, 6)
	run(t, s)
	// b: 5 [1 0 2] 6, a: 1 [5 3 6] 2, b: 5 [4 11 5] 6, swapped once more.
	expect(t, s, "a", "5 4 11 5 6")
	expect(t, s, "b", "1 5 3 6 2")
}

func TestRotateOfThree(t *testing.T) {
	s := start(t, `(program rotate
	  (axes i)
	  (grid a i32 (dim i 0 0)) (grid b i32 (dim i 0 0)) (grid c i32 (dim i 0 0))
	  (body (rotate a b c)))`, "", interp.Options{})
	fillGrid(s, "a", 1)
	fillGrid(s, "b", 2)
	fillGrid(s, "c", 3)
	a := s.Grid("a")
	run(t, s)
	expect(t, s, "a", "2")
	expect(t, s, "b", "3")
	expect(t, s, "c", "1")
	if a.At(0) != 2 {
		t.Error("an Array is its grid's after a rotation too")
	}
}

func TestAllPointsAtOnce(t *testing.T) {
	inPlace := func(value string) string {
		return fmt.Sprintf(`(program p (axes i) (grid u f64 (dim i 0 5 (low periodic) (high periodic)))
		  (stage s (array u read written (grid u))
		    (set u (over i) (domain (i (lo 0) (hi 5))) %s))
		  (body (run s)))`, value)
	}
	for _, c := range []struct{ value, want string }{
		{"(load u i-1)", "6 1 2 3 4 5"},
		{"(add (load u i) (load u i))", "2 4 6 8 10 12"},
		{"(add (load u i-1) (load u i+1))", "8 4 6 8 10 6"},
		{"(load u 3)", "4 4 4 4 4 4"},
	} {
		s := start(t, inPlace(c.value), "", interp.Options{})
		fillGrid(s, "u", 1, 2, 3, 4, 5, 6)
		run(t, s)
		expect(t, s, "u", c.want)
	}
}

func TestColours(t *testing.T) {
	s := start(t, `(program p (axes j i)
	  (grid u i32 (dim j 0 2 (low clamp) (high clamp)) (dim i 0 3 (low clamp) (high clamp)))
	  (stage s (array u read written (grid u))
	    (set u (over j i) (domain (j (lo 0) (hi 2)) (i (lo 0) (hi 3))) (color 2 0 1 1) (add (load u j i-1) (load u j i+1)))
	    (set u (over j i) (domain (j (lo 0) (hi 2)) (i (lo 0) (hi 3))) (color 3 2 -1 2) (i32 0)))
	  (body (run s)))`, "", interp.Options{})
	fillGrid(s, "u", 1, 2, 3, 4)
	run(t, s)
	// Red cells get the sum of their neighbours; then those with
	// 2i - j = 2 modulo 3 become 0.
	expect(t, s, "u", "3 0 6 4 0 4 3 0 3 2 0 4")
}

func TestTemps(t *testing.T) {
	s := start(t, `(program p (axes k i)
	  (grid u f64 (dim k 0 1) (dim i 0 3)) (grid v f64 (dim k 0 1) (dim i 0 3)) (grid w f64 (dim i 0 3))
	  (stage s (array u read (grid u)) (array v written (grid v)) (array w read (grid w))
	    (temp c f64 (box (i (lo 0) (hi 3))))
	    (temp one f64 (box))
	    (temp d f64 (box (k (lo 0) (hi 1)) (i (lo 1) (hi 2))))
	    (temp unused f64 (box))
	    (let c (load w i))
	    (let one (f64 1))
	    (let d (add (temp c) (mul (load u k i+1) (temp one))))
	    (let unused (temp one))
	    (set v (over k i) (domain (k (lo 0) (hi 1)) (i (lo 1) (hi 2))) (mul (temp d) (f64 10))))
	  (body (run s)))`, "", interp.Options{})
	fillGrid(s, "u", 1, 2, 3, 4, 5, 6, 7, 8)
	fillGrid(s, "w", 100, 200, 300, 400)
	run(t, s)
	expect(t, s, "v", "0 2030 3040 0 0 2070 3080 0")
}

// A local grid's boundary maps onto its own box, not its extents.
func TestLocalGrids(t *testing.T) {
	text := func(faces, lo, hi, value string) string {
		return fmt.Sprintf(`(program p (axes i)
		  (grid u f64 (dim i 0 5)) (grid v f64 (dim i 0 5))
		  (stage s (array u read (grid u)) (array v written (grid v))
		    (local t f64 read written (dim i 0 5 %s) (box (i (lo 1) (hi 4))))
		    (set t (over i) (domain (i (lo 1) (hi 3))) (load u i-1))
		    (set t (over i) (domain (i (lo 4) (hi 4))) (f64 -1))
		    (set v (over i) (domain (i (lo %s) (hi %s))) %s))
		  (body (run s)))`, faces, lo, hi, value)
	}
	for _, c := range []struct{ faces, lo, hi, value, want string }{
		{"", "1", "4", "(load t i)", "0 1 2 3 -1 0"},
		{"", "2", "4", "(load t i-1)", "0 0 1 2 3 0"},
		{"(low clamp) (high clamp)", "0", "5", "(load t i)", "1 1 2 3 -1 -1"},
		{"(low periodic) (high reflect)", "0", "5", "(load t i)", "-1 1 2 3 -1 3"},
	} {
		s := start(t, text(c.faces, c.lo, c.hi, c.value), "", interp.Options{})
		fillGrid(s, "u", 1, 2, 3, 4, 5, 6)
		run(t, s)
		expect(t, s, "v", c.want)
	}
}

func TestLowerDimensionalAndTransposedGrids(t *testing.T) {
	s := start(t, `(program p (axes k i)
	  (grid a f64 (dim k 0 1)) (grid b f64 (dim i 0 2))
	  (grid q f64 (dim _ 0 2) (dim _ 0 2))
	  (grid out f64 (dim k 0 1) (dim i 0 2))
	  (grid d f64 (dim i 0 2))
	  (stage s
	    (array a read (grid a)) (array b read (grid b)) (array q read (grid q))
	    (array out written (grid out)) (array d written (grid d))
	    (set out (over k i) (domain (k (lo 0) (hi 1)) (i (lo 0) (hi 2)))
	      (add (mul (load a k) (load b i)) (load q i k+1)))
	    (set d (over i) (domain (i (lo 0) (hi 2))) (add (load q i i) (load q 2 0))))
	  (body (run s)))`, "", interp.Options{})
	fillGrid(s, "a", 1, 10)
	fillGrid(s, "b", 1, 2, 3)
	fillGrid(s, "q", 100, 200, 300, 400, 500, 600, 700, 800, 900)
	run(t, s)
	expect(t, s, "out", "201 502 803 310 620 930")
	expect(t, s, "d", "800 1200 1600")
}

func TestTypesOfCells(t *testing.T) {
	s := start(t, `(program p (axes i)
	  (grid f f32 (dim i 0 3)) (grid n i32 (dim i 0 3)) (grid b u8 (dim i 0 3 (low antimirror))) (grid c bool (dim i 0 3))
	  (stage s (array f read written (grid f)) (array n read written (grid n)) (array b read written (grid b)) (array c written (grid c))
	    (set n (over i) (domain (i (lo 0) (hi 3))) (cast i32 (mul (load f i) (f32 1000))))
	    (set c (over i) (domain (i (lo 0) (hi 3))) (gt (load n i) (i32 200)))
	    (set b (over i) (domain (i (lo 0) (hi 3))) (cast u8 (load n i)))
	    (set b (over i) (domain (i (lo 0) (hi 3))) (load b i-1))
	    (set f (over i) (domain (i (lo 0) (hi 3))) (add (load f i) (f32 16777216))))
	  (body (run s)))`, "", interp.Options{})
	fillGrid(s, "f", 0.1, -0.3, 3e9, 1)
	run(t, s)
	expect(t, s, "n", "100 -300 2.147483647e+09 1000")
	expect(t, s, "c", "0 0 1 1")
	expect(t, s, "b", "156 100 212 255") // -100, 100, -300, 2^31-1 modulo 256
	expect(t, s, "f", "1.6777216e+07 1.6777216e+07 3.016777216e+09 1.6777216e+07")
}

// Every operation of a float program is rounded to float.
func TestFloatRounding(t *testing.T) {
	s := start(t, `(program p (axes i)
	  (grid u f32 (dim i 0 0)) (grid v f32 (dim i 0 0)) (grid w f32 (dim i 0 0))
	  (stage s (array u read (grid u)) (array v written (grid v)) (array w written (grid w))
	    (set v (over i) (domain (i (lo 0) (hi 0))) (sub (add (load u i) (f32 16777216)) (f32 16777216)))
	    (set w (over i) (domain (i (lo 0) (hi 0))) (sub (mul (load u i) (load u i)) (powi 2 (load u i)))))
	  (body (run s)))`, "", interp.Options{})
	fillGrid(s, "u", 1.0000001192092896)
	run(t, s)
	expect(t, s, "v", "2")
	expect(t, s, "w", "0")
}

func TestStepAndNestedIterates(t *testing.T) {
	s := start(t, `(program p (axes i)
	  (grid u i32 (dim i 0 0))
	  (stage s (array u read written (grid u))
	    (set u (over i) (domain (i (lo 0) (hi 0))) (add (mul (load u i) (i32 10)) (step))))
	  (body (run s) (iterate (i32 2) (iterate (i32 3) (run s)) (run s))))`, "", interp.Options{})
	run(t, s)
	expect(t, s, "u", "1.200121e+06") // 0, then 012 0, then 012 1
}

func TestUntil(t *testing.T) {
	text := func(check, limit int) string {
		return fmt.Sprintf(`(program p (axes i)
		  (scalar res f64 reduced used)
		  (grid u f64 (dim i 0 7))
		  (stage s (array u read written (grid u))
		    (set u (over i) (domain (i (lo 0) (hi 7))) (mul (load u i) (f64 0.5)))
		    (reduce max res (over i) (domain (i (lo 0) (hi 7))) (load u i)))
		  (body (until (lt (scalar res) (f64 0.01)) (check %d) (max %d) (run s))))`, check, limit)
	}
	for _, c := range []struct {
		check, limit int
		want         float64
	}{
		{1, 100, 1.0 / 128},
		{5, 100, 1.0 / 1024},
		{5, 7, 1.0 / 128},
		{4, 3, 1.0 / 8},
		{1, 0, 1},
	} {
		s := start(t, text(c.check, c.limit), "", interp.Options{})
		fillGrid(s, "u", 1, 0.5)
		run(t, s)
		if got := s.Grid("u").At(0); got != c.want {
			t.Errorf("check %d max %d: u is %v, want %v", c.check, c.limit, got, c.want)
		}
	}
}

func bindScalar(s *interp.State, name string) *ir.Scalar { return s.Program().Scalar(name) }

func TestInitial(t *testing.T) {
	text := `(program p (axes j i)
	  (grid u f64 (dim j 0 1) (dim i -1 1)) (grid v f64 (dim j 0 1) (dim i -1 1)) (grid r f32 (dim i 0 3))
	  (initial init
	    (array u read written (grid u)) (array v written (grid v)) (array r written (grid r))
	    (temp c f64 (box))
	    (let c (mul (cast f64 (pos j)) (f64 10)))
	    (set u (over j i) (domain (j (lo 0) (hi 1)) (i (lo -1) (hi 1))) (add (temp c) (cast f64 (pos i))))
	    (set v (over j i) (domain (j (lo 0) (hi 1)) (i (lo -1) (hi 1))) (add (load u j i) (f64 100)))
	    (set r (over i) (domain (i (lo 1) (hi 3))) (random f32 (i32 7))))
	  (body))`
	s := start(t, text, "", interp.Options{})
	s.RunInitial(nil)
	expect(t, s, "u", "-1 0 1 9 10 11")
	expect(t, s, "v", "99 100 101 109 110 111")
	s2 := start(t, text, "", interp.Options{})
	fillGrid(s2, "u", 5)
	s2.RunInitial(map[*ir.Grid]bool{s2.Program().Grid("u"): true})
	expect(t, s2, "u", "5 5 5 5 5 5")
	expect(t, s2, "v", "105 105 105 105 105 105")
	r := s.Grid("r")
	if r.At(0) != 0 || r.At(1) == r.At(2) || r.At(2) == r.At(3) {
		t.Errorf("random cells are %s", values(s, "r"))
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	text := `(program p (axes k i) (param N)
	  (scalar s f32 reduced used)
	  (grid u f32 (dim k 0 N-1 (low periodic) (high periodic)) (dim i 0 N-1 (low periodic) (high periodic)))
	  (grid v f32 (dim k 0 N-1 (low periodic) (high periodic)) (dim i 0 N-1 (low periodic) (high periodic)))
	  (initial init (array u written (grid u))
	    (set u (over k i) (domain (k (lo 0) (hi N-1)) (i (lo 0) (hi N-1))) (random f32 (i32 1))))
	  (stage s (array u read (grid u)) (array v written (grid v))
	    (reduce sum s (over k i) (domain (k (lo 0) (hi N-1)) (i (lo 0) (hi N-1))) (load u k i))
	    (set v (over k i) (domain (k (lo 0) (hi N-1)) (i (lo 0) (hi N-1)))
	      (add (mul (load u k+1 i-2) (scalar s)) (call sin (load u k i+1)))))
	  (body (iterate (i32 3) (run s) (rotate u v))))`
	var first string
	for _, workers := range []int{1, 2, 3, 7} {
		s := start(t, text, "N=137", interp.Options{Workers: workers})
		s.RunInitial(nil)
		run(t, s)
		got := values(s, "u")
		if first == "" {
			first = got
		} else if got != first {
			t.Errorf("%d workers give another result", workers)
		}
	}
}

func TestMemoryIsStatedAndLimited(t *testing.T) {
	b := bind(t, line("", "(load u i)", "0", "N-1"), "N=1000000")
	need, err := interp.Bytes(b, interp.Options{Workers: 1})
	if err != nil || need < 16_000_000 || need > 16_200_000 {
		t.Errorf("two grids of a million doubles need %d bytes, %v", need, err)
	}
	_, err = interp.New(b, interp.Options{Workers: 1, MaxBytes: 1 << 20})
	want := fmt.Sprintf("the reference executor needs %d bytes, and may take 1048576", need)
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestRefusesReadsOutside(t *testing.T) {
	p, err := ir.ParseText(line("(low clamp)", "(load u i+1)", "0", "N-1"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := p.Bind(map[string]string{"N": "4"})
	_, err = interp.New(b, interp.Options{})
	want := "s: u is read from 1 to 4 in dimension 1, but holds 0 to 3"
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestCheckpoints(t *testing.T) {
	text := `(program p (axes i)
	  (scalar n i32 reduced used)
	  (grid a i32 (dim i 0 0)) (grid b i32 (dim i 0 0))
	  (stage s (array a read written (grid a))
	    (set a (over i) (domain (i (lo 0) (hi 0))) (add (load a i) (add (step) (i32 1))))
	    (reduce sum n (over i) (domain (i (lo 0) (hi 0))) (load a i)))
	  (body (iterate (i32 2) (until (gt (scalar n) (i32 20)) (check 1) (max 9) (run s) (rotate a b)) (run s)) (rotate a b)))`
	var c ir.Cursor
	s := start(t, text, "", interp.Options{})
	for s.Step(&c) {
	}
	want := values(s, "a") + values(s, "b")
	for stop := range 30 {
		var c ir.Cursor
		s := start(t, text, "", interp.Options{})
		for range stop {
			s.Step(&c)
		}
		t2 := start(t, text, "", interp.Options{})
		for _, g := range []string{"a", "b"} {
			copy(t2.Grid(g).Data, s.Grid(g).Data)
		}
		n := s.Program().Scalar("n")
		v, _ := s.Scalar(n)
		t2.SetScalar(t2.Program().Scalar("n"), v)
		for t2.Step(&c) {
		}
		if got := values(t2, "a") + values(t2, "b"); got != want {
			t.Errorf("stopped after %d leaves: %s, want %s", stop, got, want)
		}
	}
}

func BenchmarkHeat(b *testing.B) {
	all := "(domain (k (lo 1) (hi N-2)) (j (lo 1) (hi N-2)) (i (lo 1) (hi N-2)))"
	s := start(b, `(program heat (axes k j i) (param N)
	  (grid u f64 (dim k 0 N-1) (dim j 0 N-1) (dim i 0 N-1)) (grid v f64 (dim k 0 N-1) (dim j 0 N-1) (dim i 0 N-1))
	  (stage s (array u read (grid u)) (array v written (grid v))
	    (set v (over k j i) `+all+`
	      (add (load u k j i) (mul (f64 0.1) (sub (add (add (add (add (add (load u k j i+1) (load u k j i-1)) (load u k j+1 i)) (load u k j-1 i))
	        (load u k+1 j i)) (load u k-1 j i)) (mul (f64 6) (load u k j i)))))))
	  (body (iterate (i32 10) (run s) (rotate u v))))`, "N=128", interp.Options{})
	for b.Loop() {
		run(b, s)
	}
}
