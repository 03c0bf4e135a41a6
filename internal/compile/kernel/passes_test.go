package kernel_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// passTexts are what the passes make of small kernels of which N is known to be 8.
// What they do and leave in harder cases is in tests of their own.
var passTexts = map[string]struct{ before, after string }{
	"decide": {
		`(if (lt N (i64 9)) (then (store w N a)))`,
		`(store w N a)`,
	},
	"constants": {
		`(store w N (mul (f64 2) (f64 3)))`,
		`(store w N (f64 6))`,
	},
	"copies": {
		`(let m i64 N) (store w m a)`,
		`(store w N a)`,
	},
	"branches": {
		`(if (bool true) (then (store w N a)))`,
		`(store w N a)`,
	},
	"trips": {
		`(for i i64 serial (i64 0) (i64 1) (i64 1) (store w i a))`,
		`(let i i64 (i64 0)) (store w i a)`,
	},
	"copies-of-trips": {
		`(let i i64 (i64 0)) (store w i a)`,
		`(store w (i64 0) a)`,
	},
	"branches-of-trips": {
		`(if (bool false) (then (store w N a)) (else (store v N a)))`,
		`(store v N a)`,
	},
	"hoist": {
		`(for j i64 serial (i64 0) N (i64 1) (for i i64 serial (i64 0) N (i64 1) (store w (add (mul j N) i) a)))`,
		`(for j i64 serial (i64 0) N (i64 1) (let row i64 (mul j N)) (for i i64 serial (i64 0) N (i64 1) (store w (add row i) a)))`,
	},
	"share": {
		`(store w (mul N N) (load u (mul N N)))`,
		`(let at i64 (mul N N)) (store w at (load u at))`,
	},
	"copies-of-shared": {
		`(let at i64 (mul N N)) (let x i64 at) (store w x (load u x))`,
		`(let at i64 (mul N N)) (store w at (load u at))`,
	},
	"strides": {
		`(for k i64 serial (i64 1) N (i64 1)
		   (let at i64 (mul (mul k N) N))
		   (let at_km1 i64 (mul (mul (sub k (i64 1)) N) N))
		   (store w at (load u at_km1)))`,
		`(let plane i64 (mul N N))
		 (for k i64 serial (i64 1) N (i64 1)
		   (let at i64 (mul (mul k N) N))
		   (let at_km1 i64 (sub at plane))
		   (store w at (load u at_km1)))`,
	},
	"copies-of-strides": {
		`(let at i64 (add N (i64 1))) (let at_2 i64 at) (store w at_2 a)`,
		`(let at i64 (add N (i64 1))) (store w at a)`,
	},
	"dead": {
		`(let x f64 (load u N)) (store w N a)`,
		`(store w N a)`,
	},
	"single": {
		`(let x i64 (add N (i64 2))) (let y i64 (mul x N)) (if (lt y (i64 8)) (then (let z i64 (add y y)) (store w z a)))`,
		`(let y i64 (mul (add N (i64 2)) N)) (if (lt y (i64 8)) (then (let z i64 (add y y)) (store w z a)))`,
	},
	"carry": {
		`(for b i64 block.x (i64 0) N (i64 1) (for i i64 thread.x (i64 0) (i64 32) (i64 1)
		   (for k i64 serial (i64 0) N (i64 1) (let at i64 (add (mul (add (mul k N) b) N) i)) (store w at a))))`,
		`(let plane i64 (mul N N))
		 (for b i64 block.x (i64 0) N (i64 1) (for i i64 thread.x (i64 0) (i64 32) (i64 1)
		   (var at i64 (add (mul b N) i))
		   (for k i64 serial (i64 0) N (i64 1) (store w at a) (set at (add at plane)))))`,
	},
	"dead-of-carried": {
		`(let plane i64 (mul N N)) (store w N a)`,
		`(store w N a)`,
	},
	"roots": {
		`(store w N (div (f64 1) (call sqrt a)))`,
		`(store w N (call invsqrt a))`,
	},
	"reciprocals": {
		`(let x f64 (load u N)) (store w N (div x (f64 3)))`,
		`(let x f64 (load u N))
		 (let estimate f64 (mul x (f64 0.3333333333333333)))
		 (let refined f64 (fma (fma (f64 -3) estimate x) (f64 0.3333333333333333) estimate))
		 (store w N (select (ge (call abs refined) (f64 1.90109156629516e-211)) refined
		   (select (eq x (f64 0)) estimate (call quotient x (f64 3)))))`,
	},
	"narrow": {
		`(for i i64 serial (i64 0) N (i64 1) (let at i64 (mul i N)) (store w at a))`,
		`(let N_int i32 (cast i32 N))
		 (for i i32 serial (i32 0) N_int (i32 1) (let at i32 (mul i N_int)) (store w at a))`,
	},
	"names": {
		`(for i i64 serial (i64 0) N (i64 1) (store w i a)) (let a f64 (f64 1)) (store w N a)`,
		`(for i i64 serial (i64 0) N (i64 1) (store w i a)) (let a_2 f64 (f64 1)) (store w N a_2)`,
	},
}

// Every pass has a text before and one after.
func TestPassTexts(t *testing.T) {
	for _, p := range kernel.Passes {
		c, ok := passTexts[p.Name]
		if !ok {
			t.Errorf("%s has no text", p.Name)
			continue
		}
		k := parse(t, signature+c.before+")")
		before := kernel.Text(k)
		got := kernel.Text(p.Run(k, kernel.Ranges{k.Scalars[0]: kernel.Exactly(8)}))
		if want := kernel.Text(parse(t, signature+c.after+")")); got != want {
			t.Errorf("%s makes\n%s\nwhere is wanted\n%s", p.Name, got, want)
		}
		if got == before {
			t.Errorf("%s changes nothing", p.Name)
		}
	}
	if len(passTexts) != len(kernel.Passes) {
		t.Errorf("%d texts of %d passes", len(passTexts), len(kernel.Passes))
	}
}

// A kernel goes through those passes that are for it, and all are shown.
func TestApply(t *testing.T) {
	for _, c := range []struct {
		asked kernel.Asked
		ran   int
	}{{kernel.Asked{}, 1}, {kernel.Asked{Known: true}, 2}, {kernel.Asked{GPU: true}, 3},
		{kernel.Asked{GPU: true, Indexing: true}, len(kernel.Passes)}} {
		k := parse(t, signature+`(store w (mul N N) (load u (mul N N))))`)
		shown, ran := 0, 0
		last := k
		got := kernel.Apply(k, c.asked, func(p *kernel.Pass, now *kernel.Kernel) {
			shown++
			if p.For(c.asked) {
				ran++
			} else if now != last {
				t.Errorf("%s is not for it and ran", p.Name)
			}
			last = now
		})
		if shown != len(kernel.Passes) || ran != c.ran || got != last {
			t.Errorf("%+v: %d shown, %d ran", c.asked, shown, ran)
		}
	}
}
