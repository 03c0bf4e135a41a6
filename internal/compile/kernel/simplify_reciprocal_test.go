package kernel_test

import "testing"

// Divisions by literals, by what has many dividends, and those that stay.
func TestReciprocals(t *testing.T) {
	same := func(body string) {
		t.Helper()
		run(t, "reciprocals", body, body)
	}
	const limit = `(f64 1.90109156629516e-211)`
	// A literal is worth it at once. What is divided and what is a part of more gets a name.
	run(t, "reciprocals", `(store w N (add a (div (load u N) (f64 -0.3))))`,
		`(let dividend f64 (load u N))
		 (let estimate f64 (mul dividend (f64 -3.3333333333333335)))
		 (let refined f64 (fma (fma (f64 0.3) estimate dividend) (f64 -3.3333333333333335) estimate))
		 (let quotient f64 (select (ge (call abs refined) `+limit+`) refined
		   (select (eq dividend (f64 0)) estimate (call quotient dividend (f64 -0.3)))))
		 (store w N (add a quotient))`)
	// A product with a power of two is exact, or rounded as the quotient is; so are those with names for literals.
	run(t, "reciprocals", `(let e f64 (f64 -0.5)) (store w N (add (div a (f64 8)) (div a e)))`,
		`(let e f64 (f64 -0.5)) (store w N (add (mul a (f64 0.125)) (mul a (f64 -2))))`)
	run(t, "reciprocals", `(store w N (div a (f64 2.2250738585072014e-308)))`,
		`(store w N (mul a (f64 4.49423283715579e+307)))`)
	same(`(store w N (div (load u N) (f64 5e-324)))`) // whose reciprocal is none
	same(`(store w N (div (load u N) (f64 0)))`)
	same(`(store w N (div (load u N) (f64 NaN)))`)
	same(`(store w N (div (load u N) (f64 +Inf)))`)
	same(`(store w N (div (load u N) (f64 1e-90)))`) // beyond the limits
	same(`(store w N (div (load u N) (f64 1.1e301)))`)
	same(`(store w N (div (load u N) (add (load u N) a)))`) // memory may change
	same(`(store w N (cast f64 (div N (i64 3))))`)

	// An argument is worth it once there are three divisions, or a loop.
	same(`(store w N (div (load u N) a)) (store w N (div (load u (i64 1)) a))`)
	same(`(for i i64 serial (i64 0) (i64 2) (i64 1) (store w i (div (load u i) a)))`)
	same(`(if (lt N (i64 9)) (then (store w N (div (load u N) a)) (store w N (div (load u N) a)))
	        (else (store w N (div (load u N) a)) (store w N (div (load u N) a))))`)
	const reciprocal = `(let reciprocal f64 (select (land (ge (call abs divisor) (f64 8.636168555094445e-78))
	  (le (call abs divisor) (f64 1.0715086071862673e+301))) (div (f64 1) divisor) (f64 NaN)))`
	const quotient = `(select (ge (call abs refined) ` + limit + `) refined
	  (select (land (eq dividend (f64 0)) (eq estimate (f64 0))) estimate (call quotient dividend divisor)))`
	const refined = `(let estimate f64 (mul dividend reciprocal))
	  (let refined f64 (fma (fma (neg divisor) estimate dividend) reciprocal estimate))`
	// What a local stands for is known where the launch begins.
	run(t, "reciprocals",
		`(for i i64 thread.x (i64 0) (i64 64) (i64 1) (for j i64 serial (i64 0) N (i64 1)
		   (let e f64 (mul a a)) (store w j (div (load u j) e))))`,
		`(let divisor f64 (mul a a))`+reciprocal+
			`(for i i64 thread.x (i64 0) (i64 64) (i64 1) (for j i64 serial (i64 0) N (i64 1)
			   (let e f64 (mul a a)) (let dividend f64 (load u j))`+refined+`(store w j `+quotient+`)))`)
	// So is an integer, of which it is clear how large it can be.
	run(t, "reciprocals",
		`(for j i64 serial (i64 0) N (i64 1) (let dividend f64 (load u j)) (store w j (div dividend (cast f64 N))))`,
		`(let divisor f64 (cast f64 N)) (let reciprocal f64 (div (f64 1) divisor))
		 (for j i64 serial (i64 0) N (i64 1) (let dividend f64 (load u j))`+refined+`(store w j `+quotient+`))`)
	// What the launch has one value of is left to compilers, and what is chosen to where it is chosen.
	same(`(for j i64 serial (i64 0) N (i64 1) (store w j (div (mul a a) (add a (f64 1)))))`)
	same(`(for j i64 serial (i64 0) N (i64 1) (store w j (select (lt j (i64 3)) (div (load u j) a) a)))`)
	// Collapsed loops have nothing in between, so a divisor of the outer one is the inner one's, too, and not worth it.
	same(`(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) N (i64 1)
	  (store w (add (mul j N) i) (div (load u i) (cast f64 j)))))`)
	run(t, "reciprocals",
		`(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) N (i64 1)
		   (for k i64 serial (i64 0) N (i64 1) (let dividend f64 (load u k)) (store w k (div dividend (cast f64 j))))))`,
		`(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) N (i64 1)
		   (let divisor f64 (cast f64 j)) (let reciprocal f64 (div (f64 1) divisor))
		   (for k i64 serial (i64 0) N (i64 1) (let dividend f64 (load u k))`+refined+`(store w k `+quotient+`))))`)
	// Variables that change are no divisors.
	same(`(var e f64 a) (for j i64 serial (i64 0) N (i64 1) (store w j (div (load u j) e)) (set e (mul e a)))`)
	// Values of a thread are worth it as well, from where they are known.
	run(t, "reciprocals",
		`(let divisor f64 (load u N)) (for j i64 serial (i64 0) (i64 3) (i64 1)
		   (let dividend f64 (load u j)) (if (lt j (i64 2)) (then (store w j (div dividend divisor)))))`,
		`(let divisor f64 (load u N))`+reciprocal+`(for j i64 serial (i64 0) (i64 3) (i64 1)
		   (let dividend f64 (load u j)) (if (lt j (i64 2)) (then `+refined+`(store w j `+quotient+`))))`)
	// Conditions have names before them.
	run(t, "reciprocals", `(let dividend f64 (load u N)) (if (lt (div dividend (f64 3)) a) (then (store w N a)))`,
		`(let dividend f64 (load u N))
		 (let estimate f64 (mul dividend (f64 0.3333333333333333)))
		 (let refined f64 (fma (fma (f64 -3) estimate dividend) (f64 0.3333333333333333) estimate))
		 (let quotient f64 (select (ge (call abs refined) `+limit+`) refined
		   (select (eq dividend (f64 0)) estimate (call quotient dividend (f64 3)))))
		 (if (lt quotient a) (then (store w N a)))`)
}
