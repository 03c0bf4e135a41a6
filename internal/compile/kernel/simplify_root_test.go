package kernel_test

import "testing"

// 1 over a root, wherever it stands, and the roots that stay.
func TestRoots(t *testing.T) {
	same := func(body string) {
		t.Helper()
		run(t, "roots", body, body)
	}
	run(t, "roots", `(store w N (select (lt N (i64 3)) (mul a (div (f64 1) (call sqrt (add a (load u N))))) a))`,
		`(store w N (select (lt N (i64 3)) (mul a (call invsqrt (add a (load u N)))) a))`)
	run(t, "roots", `(for i i64 serial (i64 0) N (i64 1) (let x f64 (load u i)) (let s f64 (call sqrt (add x a))) (store w i (div (f64 1) s)))`,
		`(for i i64 serial (i64 0) N (i64 1) (let x f64 (load u i)) (store w i (call invsqrt (add x a))))`)
	// A root that is needed beside, one before a loop, and one of what changes.
	same(`(let s f64 (call sqrt a)) (store w N (add s (div (f64 1) s)))`)
	same(`(let s f64 (call sqrt a)) (for i i64 serial (i64 0) N (i64 1) (store w i (div (f64 1) s)))`)
	same(`(let s f64 (call sqrt (load w N))) (store w N a) (store w (i64 1) (div (f64 1) s))`)
	same(`(var x f64 a) (let s f64 (call sqrt x)) (set x (f64 2)) (store w N (div (f64 1) s))`)
	// Other quotients. Those of floats gain little.
	same(`(store w N (div (f64 2) (call sqrt a)))`)
	same(`(store w N (div (call sqrt a) (f64 1)))`)
	same(`(store w N (cast f64 (div (f32 1) (call sqrt (cast f32 a)))))`)
	same(`(store w N (cast f64 (div (i64 1) N)))`)
}
