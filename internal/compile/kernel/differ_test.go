package kernel_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// rows is a kernel of blocks with a loop along an axis, a vector of loads and shared memory.
const rows = `(kernel rows
  (buffer u f64 global in (mul N (i64 64)))
  (buffer v f64 global out (mul N (i64 64)))
  (scalar N i64)
  (for b i64 block.x (i64 0) N (i64 1)
    (alloc s f64 shared (i64 128))
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (let row i64 (mul b (i64 64)))
      (for k i64 serial (i64 0) (i64 2) (i64 1)
        (loads (x y) u (add row (mul t (i64 2))))
        (store s (mul t (i64 2)) x)
        (barrier block)
        (let w f64 (load s (i64 5)))
        (let z f64 (mul (add x y) (mul w (add x (f64 3)))))
        (barrier block)
        (if (lt (add k b) (sub N (i64 1)))
          (then
            (store v (add (add row t) (mul k (i64 32))) z)))))))
`

// Differences in the text of a kernel, line by line: what is no longer there, and what is new.
func TestDifferings(t *testing.T) {
	for _, c := range []struct {
		without      string
		last         int64
		gone, before []string // lines that are not there any more, and that are new
	}{
		{kernel.WithoutDRAM, 64 * 64 * 8 * 2 / 8, []string{"(for b i64 block.x (i64 0) N (i64 1)"}, []string{
			"(for every_b i64 block.x (i64 0) N (i64 1)", "(let b i64 (add (rem every_b (i64 8)) (i64 28)))",
		}},
		{kernel.WithoutL2, 1 << 14, []string{"(loads (x y) u (add row (mul t (i64 2))))"}, []string{
			"(loads (x y) u (and (add row (mul t (i64 2))) (i64 127)))",
			"(store v (and (add (add row t) (mul k (i64 32))) (i64 1023)) z)",
		}},
		{kernel.WithoutL1, 0, []string{"(loads (x y) u (add row (mul t (i64 2))))"}, []string{
			"(let loads_here bool (eq k b))",
			"(let not_loaded f64 (cast f64 (add t (i64 1))))",
			"(var x f64 not_loaded)", "(var y f64 not_loaded)", "(if loads_here",
			"(loads (x_loaded y_loaded) u (add row (mul t (i64 2))))", "(set x x_loaded)", "(set y y_loaded)",
		}},
		{kernel.WithoutShared, 0, []string{"(let w f64 (load s (i64 5)))"}, []string{
			"(let not_loaded f64 (cast f64 (add t (i64 1))))",
			"(let loads_here bool (eq k b))", "(let w f64 (select loads_here (load s (i64 5)) not_loaded))",
		}},
		{kernel.WithoutArithmetic, 0, []string{"(let z f64 (mul (add x y) (mul w (add x (f64 3)))))"}, []string{
			"(let z f64 (add y w))", // x is in s, and so in w
		}},
	} {
		k, err := kernel.ParseText(rows)
		if err != nil {
			t.Fatal(err)
		}
		s := kernel.Surroundings{Arguments: map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 64)},
			LastBytes: c.last, NearBytes: 2048, Team: 1}
		next, err := named(t, c.without).Make(k, s)
		if err != nil {
			t.Errorf("%s: %v", c.without, err)
			continue
		}
		if err := kernel.Verify(next); err != nil {
			t.Errorf("%s: %v", c.without, err)
		}
		was, now := lines(kernel.Text(k)), lines(kernel.Text(next))
		for _, l := range c.gone {
			if !was[l] || now[l] {
				t.Errorf("%s: %s stays\n%s", c.without, l, kernel.Text(next))
			}
			delete(was, l)
		}
		for _, l := range c.before {
			if !now[l] {
				t.Errorf("%s: no %s\n%s", c.without, l, kernel.Text(next))
			}
			delete(now, l)
		}
		for l := range was {
			if !now[l] && !strings.Contains(l, "store v") {
				t.Errorf("%s: %s has gone", c.without, l)
			}
		}
	}
}

func named(t *testing.T, name string) *kernel.Differing {
	t.Helper()
	for i := range kernel.Differences {
		if kernel.Differences[i].Name == name {
			return &kernel.Differences[i]
		}
	}
	t.Fatalf("nothing is called %s", name)
	return nil
}

// lines returns the lines of a text, without the parentheses that end what is around them.
func lines(text string) map[string]bool {
	set := map[string]bool{}
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		for strings.Count(l, ")") > strings.Count(l, "(") {
			l = l[:len(l)-1]
		}
		set[l] = true
	}
	return set
}

// A kernel without a cost is told to have none.
func TestAbsentCosts(t *testing.T) {
	k, err := kernel.ParseText(`(kernel copy
  (buffer u f64 global in (i64 64))
  (buffer v f64 global out (i64 64))
  (for i i64 parallel (i64 0) (i64 64) (i64 1)
    (store v i (load u i))))
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range kernel.Differences {
		next, err := d.Make(k, kernel.Surroundings{LastBytes: 1 << 20, NearBytes: 1 << 20, Team: 2})
		if !kernel.IsAbsent(err) || next != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}
