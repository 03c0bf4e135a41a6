package kernel_test

import "testing"

// Accesses of several elements, values of other lanes and copies that run on
// their own pass through; whatever somebody waits for stays.
func TestPassesKeepWhatOthersWaitFor(t *testing.T) {
	threads := func(alloc, body string) string {
		return `(for b i64 block.x (i64 0) N (i64 1) ` + alloc +
			` (for t i64 thread.x (i64 0) (i64 32) (i64 1) ` + body + `))`
	}
	// Values that nothing reads.
	run(t, "dead", threads("", `(loads (p q) u (mul t (i64 2))) (shuffle l f64 up p (i32 1)) (store w t a)`),
		threads("", `(store w t a)`))
	for _, body := range []string{
		`(loads (p q) u (mul t (i64 2))) (shuffle l f64 up p (i32 1)) (store w t l)`,
		`(let x f64 (load u t)) (let at i64 (mul t (i64 2))) (stores w at (x a))`,
	} {
		run(t, "dead", threads("", body), threads("", body))
	}
	// Copies into memory that nothing reads; groups are still counted.
	tile := `(alloc tile f64 shared (i64 64))`
	run(t, "dead",
		threads(tile, `(async tile (mul t (i64 2)) u (mul t (i64 2)) 2) (async.commit) (async.wait 0) (store w t a)`),
		threads("", `(async.commit) (async.wait 0) (store w t a)`))
	used := `(async tile (mul t (i64 2)) u (mul t (i64 2)) 2) (async.commit) (async.wait 0) (barrier block) (store w t (load tile (sub (i64 63) t)))`
	run(t, "dead", threads(tile, used), threads(tile, used))
	// Bytes that an mbarrier counts.
	bulk := `(let full_at i64 (sub N N))
		(if (eq t (i64 0)) (then
		  (mbarrier.init full full_at (i32 1))))
		(barrier block)
		(if (eq t (i64 0)) (then
		  (mbarrier.arrive full full_at (bytes (i32 512)))
		  (bulk tile (i64 0) u (mul b (i64 64)) (i64 64) full full_at)))
		(mbarrier.wait full full_at (i32 0))
		(store w t a)`
	memory := tile + ` (alloc full i64 mbarrier (i64 1))`
	run(t, "dead", threads(memory, bulk), threads(memory, bulk))

	// Their indices are expressions like others.
	loop := func(body string) string { return `(for j i64 serial (i64 0) N (i64 1) ` + body + `)` }
	run(t, "hoist", threads("", loop(
		`(loads (p q) u (add (mul (mul t N) (i64 2)) (mul j (i64 2)))) (shuffle l f64 down p (i32 1)) (store w t l)`)),
		threads("", `(let row i64 (mul (mul t N) (i64 2)))`+
			loop(`(loads (p q) u (add row (mul j (i64 2)))) (shuffle l f64 down p (i32 1)) (store w t l)`)))
	run(t, "share", threads("", `(loads (p q) u (mul (add t N) (i64 2))) (stores w (mul (add t N) (i64 2)) (p q))`),
		threads("", `(let at i64 (mul (add t N) (i64 2))) (loads (p q) u at) (stores w at (p q))`))
	run(t, "copies", threads("", `(let i i64 t) (shuffle l f64 xor (cast f64 i) (i32 1)) (store w i l)`),
		threads("", `(shuffle l f64 xor (cast f64 t) (i32 1)) (store w t l)`))
	// A shuffle is for all threads of the warp: it stays where they are together.
	for _, pass := range []string{"hoist", "single", "carry", "strides"} {
		body := threads("",
			loop(`(let x f64 (cast f64 j)) (shuffle l f64 up x (i32 1)) (if (lt t (i64 7)) (then (store w t l)))`))
		run(t, pass, body, body)
	}
}
