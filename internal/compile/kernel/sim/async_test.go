package sim_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
)

// ring opens loops over one block of 64 threads with shared memory s of 128
// cells and two mbarriers m; the first is made for one arrival and the second
// for 64.
const ring = "(for b i64 block.x (i64 0) (i64 1) (i64 1) (alloc s f64 shared (i64 128)) " +
	"(alloc m i64 mbarrier (i64 2)) (for t i64 thread.x (i64 0) (i64 64) (i64 1) " +
	"(if (eq t (i64 0)) (then (mbarrier.init m (i64 0) (i32 1)) (mbarrier.init m (i64 1) (i32 64)))) (barrier block) "

// three opens loops over one block of 96 threads with shared memory s of 32
// cells, and makes two mbarriers for one arrival.
const three = "(for b i64 block.x (i64 0) (i64 1) (i64 1) (alloc s f64 shared (i64 32)) " +
	"(alloc m i64 mbarrier (i64 2)) " +
	"(for t i64 thread.x (i64 0) (i64 96) (i64 1) " +
	"(if (lt t (i64 2)) (then (mbarrier.init m t (i32 1)))) (barrier block) "

// pair opens loops over a cluster of two blocks of 64 threads with shared
// memory s of 64 cells and an mbarrier m for one warp; other is the other
// block's rank.
const pair = "(for b i64 block.x (i64 0) (i64 1) (i64 1) (for r i32 cluster.x (i32 0) (i32 2) (i32 1) " +
	"(alloc s f64 shared (i64 64)) (alloc m i64 mbarrier (i64 1)) " +
	"(for t i64 thread.x (i64 0) (i64 64) (i64 1) (let other i32 (sub (i32 1) r)) " +
	"(if (eq t (i64 0)) (then (mbarrier.init m (i64 0) (i32 32)))) (barrier cluster) "

// fetch has 64 cells copied to shared memory by one thread.
const fetch = "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 512))) " +
	"(bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))))"

// half has 32 cells copied to shared memory.
const half = "(mbarrier.arrive m (i64 0) (bytes (i32 256))) (bulk s (i64 0) u (i64 0) (i64 32) m (i64 0))"

func TestAsynchronousFaults(t *testing.T) {
	tests := []struct {
		name, body string
		want       string // the faults, one a line
	}{
		// Copies of threads.
		{"a copy", block + "(async s t u t 1) (async.commit) (async.wait 0) (barrier block) " +
			"(store v t (load s (sub (i64 63) t)))))", ""},
		{"a thread's own copy needs no barrier",
			block + "(async s t u t 1) (async.commit) (async.wait 0) (store v t (load s t))))", ""},
		{"no wait", block + "(async s t u t 1) (async.commit) (barrier block) (store v t (load s t))))",
			"k/for b/for t/store v: loads s[0] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"no wait before a grid barrier",
			block + "(async s t u t 1) (async.commit) (barrier grid) (store v t (load s t))))",
			"k/for b/for t/store v: loads s[0] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"no barrier",
			block + "(async s t u t 1) (async.commit) (async.wait 0) (store v t (load s (sub (i64 63) t)))))",
			"k/for b/for t/store v: loads s[63], which nothing has written (thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/async s: copies to s[32] while thread 31,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/store v (thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store v: loads s[31] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/async.wait (thread 32,0,0 of block 0,0,0), 32 times"},
		{"no group", block + "(async s t u t 1) (async.wait 0) (store v t (load s t))))",
			"k/for b/for t/store v: loads s[0] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"all groups but one",
			block + "(async s t u t 1) (async.commit) (async.commit) (async.wait 1) (store v t (load s t))))", ""},
		{"all groups but one, which is needed",
			block + "(async s t u t 1) (async.commit) (async.wait 1) (store v t (load s t))))",
			"k/for b/for t/store v: loads s[0] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"groups of some threads", block + "(async s t u t 1) (if (lt t (i64 8)) (then (async.commit))) " +
			"(async.commit) (async.wait 1) (if (lt t (i64 8)) (then (store v t (load s t))))))", ""},
		{"groups of the other threads", block + "(async s t u t 1) (if (lt t (i64 8)) (then (async.commit))) " +
			"(async.commit) (async.wait 1) (if (lt t (i64 9)) (then (store v t (load s t))))))",
			"k/for b/for t/if#2/then/store v: loads s[8] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 8,0,0 of block 0,0,0)"},
		{"the source changes", block + "(store w t (f64 1)) (async s t w t 1) (async.commit) (store w t (f64 2))))",
			"k/for b/for t/store w#2: stores to w[0] while an asynchronous copy loads at k/for b/for t/async s " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"the source changes afterwards",
			block + "(store w t (f64 1)) (async s t w t 1) (async.commit) (async.wait 0) (store w t (f64 2))))", ""},
		{"the source is another thread's",
			block + "(store w t (f64 1)) (async s t w (sub (i64 63) t) 1) (async.commit)))",
			"k/for b/for t/async s: copies w[63], which nothing has written (thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store w: stores to w[32] while an asynchronous copy loads at k/for b/for t/async s " +
				"(thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/async s: copies w[31] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store w (thread 32,0,0 of block 0,0,0), 32 times"},
		{"the target is written", block + "(async s t u t 1) (async.commit) (store s t (f64 1))))",
			"k/for b/for t/store s: stores to s[0] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"the target was read by others", block + "(store s t (f64 1)) (barrier block) " +
			"(store v t (load s (sub (i64 63) t))) (async s t u t 1) (async.commit)))",
			"k/for b/for t/store v: loads s[31] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/async s: copies to s[32] while thread 31,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/store v (thread 32,0,0 of block 0,0,0), 32 times"},
		{"two copies to one cell", block + "(async s (i64 0) u t 1) (async.commit)))",
			"k/for b/for t/async s: copies to s[0] while an asynchronous copy stores at k/for b/for t/async s " +
				"(thread 1,0,0 of block 0,0,0), 63 times"},
		{"a copy of two to an odd cell", block + "(if (lt t (i64 2)) (then (async s t u (mul t (i64 2)) 2)))))",
			"k/for b/for t/if/then/async s: copies to 2 elements of s from 1, which is no multiple of 2 " +
				"(thread 1,0,0 of block 0,0,0)"},
		{"a copy from beyond the end", block + "(async s t u (add t (i64 1)) 1)))",
			"k/for b/for t/async s: copies u[64] to [64], which has 64 cells (thread 63,0,0 of block 0,0,0)"},
		{"a copy from a cell without a value", block + "(async s t w t 1)))",
			"k/for b/for t/async s: copies w[0], which nothing has written (thread 0,0,0 of block 0,0,0), 64 times"},

		// Bulk copies and mbarriers.
		{"a bulk copy", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 512))) " +
			"(bulk s (i64 64) u (i64 0) (i64 64) m (i64 0))))" +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s (add t (i64 64))))))", ""},
		{"bytes that come before they are announced", ring + "(if (eq t (i64 0)) " +
			"(then (bulk s (i64 64) u (i64 0) (i64 64) m (i64 0)) (mbarrier.arrive m (i64 0) (bytes (i32 512)))))" +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s (add t (i64 64))))))", ""},
		{"no wait for a bulk copy", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 512))) " +
			"(bulk s (i64 0) u (i64 0) (i64 64) m (i64 0)))) (barrier block) (store v t (load s t))))",
			"k/for b/for t/store v: loads s[0] while a bulk copy stores at k/for b/for t/if#2/then/bulk s " +
				"(thread 0,0,0 of block 0,0,0), 64 times\n" +
				"k: the block may have ended before the bulk copies for m[0] have (thread 32,0,0 of block 0,0,0)"},
		{"a bulk copy over what threads have stored", ring + "(store s t (load u t)) (barrier block)" + fetch +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/if#2/then/bulk s: copies to s[0], which thread 0,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/store s and not made a fence since (thread 0,0,0 of block 0,0,0), 64 times"},
		{"the same after a fence of each", ring + "(store s t (load u t)) (async.fence) (barrier block)" + fetch +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))", ""},
		{"a fence of the thread that copies",
			ring + "(store s t (load u t)) (barrier block) (if (eq t (i64 0)) (then (async.fence)))" + fetch +
				" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/if#3/then/bulk s: copies to s[1], which thread 1,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/store s and not made a fence since (thread 0,0,0 of block 0,0,0), 63 times"},
		{"a fence that only its thread knows of", ring + "(store s t (load u t)) (barrier block) (async.fence)" +
			fetch + " (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/if#2/then/bulk s: copies to s[1], which thread 1,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/store s and not made a fence since (thread 0,0,0 of block 0,0,0), 63 times"},
		{"a fence before the others store", ring + "(if (eq t (i64 0)) (then (store s t (load u t)))) (async.fence) " +
			"(if (eq t (i64 1)) (then (store s t (load u t)))) (barrier block)" + fetch +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/if#4/then/bulk s: copies to s[1], which thread 1,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/if#3/then/store s and not made a fence since (thread 0,0,0 of block 0,0,0)"},
		{"a bulk copy over what threads have loaded", ring + fetch + " (mbarrier.wait m (i64 0) (i32 0)) " +
			"(store v t (load s (sub (i64 63) t))) (barrier block)" + fetch + " (mbarrier.wait m (i64 0) (i32 1))))",
			"k/for b/for t/if#3/then/bulk s: copies to s[0], which thread 63,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/store v and not made a fence since (thread 0,0,0 of block 0,0,0), 64 times"},
		{"the same after a fence of each, too", ring + fetch + " (mbarrier.wait m (i64 0) (i32 0)) " +
			"(store v t (load s (sub (i64 63) t))) (async.fence) (barrier block)" + fetch +
			" (mbarrier.wait m (i64 0) (i32 1))))", ""},
		{"a fence before a second load", ring + fetch + " (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t)) " +
			"(async.fence) (barrier block) (let x f64 (load s t)) (barrier block)" + fetch +
			" (mbarrier.wait m (i64 0) (i32 1))))",
			"k/for b/for t/if#3/then/bulk s: copies to s[0], which thread 0,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/let x and not made a fence since (thread 0,0,0 of block 0,0,0), 64 times"},
		{"the first of two that load makes no fence", ring + fetch + " (mbarrier.wait m (i64 0) (i32 0)) " +
			"(if (eq t (i64 40)) (then (store v t (load s t)))) (barrier block) " +
			"(if (eq t (i64 2)) (then (store v t (load s (i64 40))) (async.fence))) (barrier block)" + fetch +
			" (mbarrier.wait m (i64 0) (i32 1))))",
			"k/for b/for t/if#5/then/bulk s: copies to s[40], which thread 40,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/if#3/then/store v and not made a fence since (thread 0,0,0 of block 0,0,0)"},
		{"a warp that loads, and one that copies when it hears of that", three +
			"(if (lt t (i64 32)) (then (mbarrier.wait m (i64 0) (i32 0)) (let x f64 (load s t)) (async.fence) " +
			"(barrier warp) (if (eq t (i64 0)) (then (mbarrier.arrive m (i64 1)))))) " +
			"(if (eq t (i64 32)) (then " + half + "(mbarrier.wait m (i64 1) (i32 0)) " + half +
			"(mbarrier.wait m (i64 0) (i32 1))))))", ""},
		{"the same without a fence", three +
			"(if (lt t (i64 32)) (then (mbarrier.wait m (i64 0) (i32 0)) (let x f64 (load s t)) " +
			"(barrier warp) (if (eq t (i64 0)) (then (mbarrier.arrive m (i64 1)))))) " +
			"(if (eq t (i64 32)) (then " + half + "(mbarrier.wait m (i64 1) (i32 0)) " + half +
			"(mbarrier.wait m (i64 0) (i32 1))))))",
			"k/for b/for t/if#3/then/bulk s#2: copies to s[0], which thread 0,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/if#2/then/let x and not made a fence since (thread 32,0,0 of block 0,0,0), 32 times"},
		{"with a fence of one thread of the warp", three +
			"(if (lt t (i64 32)) (then (mbarrier.wait m (i64 0) (i32 0)) (let x f64 (load s t)) " +
			"(barrier warp) (if (eq t (i64 0)) (then (async.fence) (mbarrier.arrive m (i64 1)))))) " +
			"(if (eq t (i64 32)) (then " + half + "(mbarrier.wait m (i64 1) (i32 0)) " + half +
			"(mbarrier.wait m (i64 0) (i32 1))))))",
			"k/for b/for t/if#3/then/bulk s#2: copies to s[1], which thread 1,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/if#2/then/let x and not made a fence since (thread 32,0,0 of block 0,0,0), 31 times"},
		{"a copy of a thread over which a bulk copy goes", ring + "(async s t u t 1) (async.commit) (async.wait 0) " +
			"(barrier block)" + fetch + " (mbarrier.wait m (i64 0) (i32 0))))",
			"k/for b/for t/if#2/then/bulk s: copies to s[0], which thread 0,0,0 of block 0,0,0 has used " +
				"at k/for b/for t/async.wait and not made a fence since (thread 0,0,0 of block 0,0,0), 64 times"},
		{"bytes that are not announced", ring +
			"(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0)) (bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))))" +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/store v: loads s[0] while a bulk copy stores at k/for b/for t/if#2/then/bulk s " +
				"(thread 0,0,0 of block 0,0,0), 64 times\n" +
				"k: the block may have ended before the bulk copies for m[0] have (thread 32,0,0 of block 0,0,0)"},
		{"too few bytes", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 256))) " +
			"(bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))))" +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/mbarrier.wait m: threads wait for ever: thread 0,0,0 of block 0,0,0, " +
				"the first of 2 warps, waits at k/for b/for t/mbarrier.wait m for the end of phase 0 of m[0]: 0 of 1 " +
				"arrivals are missing, and 256 bytes came that were not announced (thread 0,0,0 of block 0,0,0)"},
		{"too many bytes", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 1024))) " +
			"(bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))))" +
			" (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s t))))",
			"k/for b/for t/mbarrier.wait m: threads wait for ever: thread 0,0,0 of block 0,0,0, " +
				"the first of 2 warps, waits at k/for b/for t/mbarrier.wait m for the end of phase 0 of m[0]: " +
				"0 of 1 arrivals are missing and 512 bytes that were announced (thread 0,0,0 of block 0,0,0)"},
		{"the other parity", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 512))) " +
			"(bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))))" +
			" (mbarrier.wait m (i64 0) (i32 1)) (store v t (load s t))))",
			"k/for b/for t/mbarrier.wait m: threads wait for ever: thread 0,0,0 of block 0,0,0, " +
				"the first of 2 warps, waits at k/for b/for t/mbarrier.wait m for the end of phase 1 of m[0]: " +
				"1 of 1 arrivals are missing (thread 0,0,0 of block 0,0,0)"},
		{"half of a pair of cells", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 512))) " +
			"(bulk s (i64 0) u (i64 1) (i64 63) m (i64 0)))) (mbarrier.wait m (i64 0) (i32 0))))",
			"k/for b/for t/if#2/then/bulk s: copies 504 bytes from byte 8 of u to byte 0 of s, " +
				"which are not all multiples of 16 (thread 0,0,0 of block 0,0,0)\n" +
				"k/for b/for t/mbarrier.wait m: threads wait for ever: thread 0,0,0 of block 0,0,0, " +
				"the first of 2 warps, waits at k/for b/for t/mbarrier.wait m for the end of phase 0 of m[0]: " +
				"0 of 1 arrivals are missing and 512 bytes that were announced (thread 0,0,0 of block 0,0,0)"},
		{"a bulk copy to beyond the end",
			ring + "(if (eq t (i64 0)) (then (bulk s (i64 128) u (i64 0) (i64 2) m (i64 0))))))",
			"k/for b/for t/if#2/then/bulk s: copies to s[128] to [129], which has 128 cells " +
				"(thread 0,0,0 of block 0,0,0)"},
		{"one of the threads waits", ring + "(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 512))) " +
			"(bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))" +
			" (mbarrier.wait m (i64 0) (i32 0)))) (barrier block) (store v t (load s t))))", ""},
		{"one of the threads waits, and no others for it", ring + "(if (eq t (i64 0)) " +
			"(then (mbarrier.arrive m (i64 0) (bytes (i32 512))) (bulk s (i64 0) u (i64 0) (i64 64) m (i64 0))" +
			" (mbarrier.wait m (i64 0) (i32 0)))) (if (lt t (i64 32)) (then (store v t (load s t))))))",
			"k/for b/for t/if#3/then/store v: loads s[1] while a bulk copy stores at k/for b/for t/if#2/then/bulk s " +
				"(thread 1,0,0 of block 0,0,0), 31 times"},
		{"all arrive and wait", ring + "(store s t (f64 1)) (mbarrier.arrive m (i64 1)) " +
			"(mbarrier.wait m (i64 1) (i32 0)) (store v t (load s (sub (i64 63) t)))))", ""},
		{"all arrive", ring + "(store s t (f64 1)) (mbarrier.arrive m (i64 1)) (store v t (load s (sub (i64 63) t)))))",
			"k/for b/for t/store v: loads s[63], which nothing has written (thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store s: stores to s[32] while thread 31,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/store v (thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store v: loads s[31] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store s (thread 32,0,0 of block 0,0,0), 32 times"},
		{"one arrives for its warp", ring + "(if (lt t (i64 32)) (then (store s t (f64 1)) (barrier warp) " +
			"(if (eq t (i64 5)) (then (mbarrier.arrive m (i64 0))))) " +
			"(else (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s (sub (i64 63) t))))))) ", ""},
		{"one arrives before its warp is ready", ring +
			"(if (lt t (i64 32)) (then (store s t (f64 1)) (if (eq t (i64 5)) (then (mbarrier.arrive m (i64 0))))) " +
			"(else (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s (sub (i64 63) t))))))) ",
			"k/for b/for t/if#2/else/store v: loads s[31] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/if#2/then/store s (thread 32,0,0 of block 0,0,0), 31 times"},
		{"one arrives and writes on", ring + "(if (lt t (i64 32)) (then (store s t (f64 1)) (barrier warp) " +
			"(if (eq t (i64 5)) (then (mbarrier.arrive m (i64 0)) (store s t (f64 2))))) " +
			"(else (mbarrier.wait m (i64 0) (i32 0)) (store v t (load s (sub (i64 63) t))))))) ",
			"k/for b/for t/if#2/else/store v: loads s[5] while thread 5,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/if#2/then/if/then/store s (thread 58,0,0 of block 0,0,0)"},
		{"nobody arrives", ring + "(mbarrier.wait m (i64 0) (i32 0))))",
			"k/for b/for t/mbarrier.wait m: threads wait for ever: thread 0,0,0 of block 0,0,0, " +
				"the first of 2 warps, waits at k/for b/for t/mbarrier.wait m for the end of phase 0 of m[0]: " +
				"1 of 1 arrivals are missing (thread 0,0,0 of block 0,0,0)"},
		{"some arrive", ring + "(if (lt t (i64 40)) (then (mbarrier.arrive m (i64 1)))) " +
			"(if (ge t (i64 32)) (then (mbarrier.wait m (i64 1) (i32 0))))))",
			"k/for b/for t/if#3/then/mbarrier.wait m: threads wait for ever: thread 32,0,0 of block 0,0,0 waits " +
				"at k/for b/for t/if#3/then/mbarrier.wait m for the end of phase 0 of m[1]: " +
				"24 of 64 arrivals are missing; warps that have ended: 1 (thread 32,0,0 of block 0,0,0)"},
		{"a phase that ends before all have seen the one before end",
			three + "(if (lt t (i64 32)) (then (mbarrier.wait m (i64 0) (i32 0))))" +
				" (if (eq t (i64 32)) (then (mbarrier.arrive m (i64 0)) (mbarrier.wait m (i64 1) (i32 0)) " +
				"(mbarrier.arrive m (i64 0)))) (if (eq t (i64 64)) (then (mbarrier.arrive m (i64 1))))))",
			"k/for b/for t/if#3/then/mbarrier.arrive m#2: ends phase 1 of m[0] while thread 0,0,0 of block 0,0,0 " +
				"may still wait for the one before at k/for b/for t/if#2/then/mbarrier.wait m " +
				"(thread 32,0,0 of block 0,0,0)"},
		{"one warp arrives at two mbarriers at once", "(for b i64 block.x (i64 0) (i64 1) (i64 1) " +
			"(alloc s f64 shared (i64 64)) (alloc m i64 mbarrier (i64 2)) " +
			"(for t i64 thread.x (i64 0) (i64 64) (i64 1) " +
			"(if (lt t (i64 2)) (then (mbarrier.init m t (i32 16)))) (barrier block) " +
			"(if (lt t (i64 32)) (then (store s t (f64 1)) (mbarrier.arrive m (rem t (i64 2))))" +
			" (else (mbarrier.wait m (rem t (i64 2)) (i32 0)) (let x f64 (load s (sub t (i64 32))))))))", ""},
		{"one warp waits at the wrong one of two", "(for b i64 block.x (i64 0) (i64 1) (i64 1) " +
			"(alloc s f64 shared (i64 64)) (alloc m i64 mbarrier (i64 2)) " +
			"(for t i64 thread.x (i64 0) (i64 64) (i64 1) " +
			"(if (lt t (i64 2)) (then (mbarrier.init m t (i32 16)))) (barrier block) " +
			"(if (lt t (i64 32)) (then (store s t (f64 1)) (mbarrier.arrive m (rem t (i64 2))))" +
			" (else (mbarrier.wait m (rem (add t (i64 1)) (i64 2)) (i32 0)) (let x f64 (load s (sub t (i64 32))))))))",
			"k/for b/for t/if#2/else/let x: loads s[0] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/if#2/then/store s (thread 32,0,0 of block 0,0,0), 32 times"},
		{"more arrivals than a phase has", ring +
			"(if (eq t (i64 0)) (then (mbarrier.arrive m (i64 0) (bytes (i32 16))) (mbarrier.arrive m (i64 0))))))",
			"k/for b/for t/if#2/then/mbarrier.arrive m#2: arrives at m[0], which waits for 1 arrivals and has them " +
				"(thread 0,0,0 of block 0,0,0)"},
		{"an arrival at a block that is not there",
			pair + "(mbarrier.arrive m (i64 0) (rank (i32 2))) (barrier cluster))))",
			"k/for b/for r/for t/mbarrier.arrive m: arrives at block 2 in a cluster of 2 " +
				"(thread 0,0,0 of block 0,0,0), 128 times"},
		{"a wait for what is not there", ring + "(if (eq t (i64 0)) (then (mbarrier.wait m (i64 5) (i32 0))))))",
			"k/for b/for t/if#2/then/mbarrier.wait m: waits for m[5], which has 2 cells (thread 0,0,0 of block 0,0,0)"},
		{"a bulk copy for what is not there",
			ring + "(if (eq t (i64 0)) (then (bulk s (i64 0) u (i64 0) (i64 2) m (i64 5))))))",
			"k/for b/for t/if#2/then/bulk s: copies for m[5], which has 2 cells (thread 0,0,0 of block 0,0,0)"},
		{"a bulk copy of nothing",
			ring + "(if (eq t (i64 0)) (then (bulk s (i64 0) u (i64 0) (sub N (i64 64)) m (i64 0))))))",
			"k/for b/for t/if#2/then/bulk s: copies 0 elements (thread 0,0,0 of block 0,0,0)"},
		{"a bulk copy from beyond the end",
			ring + "(if (eq t (i64 0)) (then (bulk s (i64 0) u (i64 2) N m (i64 0))))))",
			"k/for b/for t/if#2/then/bulk s: copies u[2] to [65], which has 64 cells (thread 0,0,0 of block 0,0,0)"},
		{"an mbarrier that is made where none is",
			ring + "(if (eq t (i64 0)) (then (mbarrier.init m (i64 2) (i32 1))))))",
			"k/for b/for t/if#2/then/mbarrier.init m: makes m[2], which has 2 cells (thread 0,0,0 of block 0,0,0)"},
		{"some wait, then all, then they meet", ring + "(store s t (f64 1)) (mbarrier.arrive m (i64 1)) " +
			"(if (eq t (i64 7)) (then (mbarrier.wait m (i64 1) (i32 0)) (let x f64 (load s (i64 40)))))" +
			" (if (eq t (i64 7)) (then (store s (i64 40) (f64 2)) (mbarrier.arrive m (i64 0)))) " +
			"(mbarrier.wait m (i64 0) (i32 0)) (let y f64 (load s (i64 40)))))", ""},
		{"an mbarrier that is not there", ring + "(mbarrier.arrive m (i64 2))))",
			"k/for b/for t/mbarrier.arrive m: arrives at m[2], which has 2 cells " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"an mbarrier that is not made", block[:len(block)-len("(for t i64 thread.x (i64 0) (i64 64) (i64 1) ")] +
			"(alloc m i64 mbarrier (i64 1)) (for t i64 thread.x (i64 0) (i64 64) (i64 1) " +
			"(if (eq t (i64 3)) (then (mbarrier.arrive m (i64 0))))))",
			"k/for b/for t/if/then/mbarrier.arrive m: arrives at m[0], which nothing has made " +
				"(thread 3,0,0 of block 0,0,0)"},
		{"an mbarrier that others may not know of", "(for b i64 block.x (i64 0) (i64 1) (i64 1) " +
			"(alloc m i64 mbarrier (i64 1)) (for t i64 thread.x (i64 0) (i64 64) (i64 1)" +
			" (if (eq t (i64 0)) (then (mbarrier.init m (i64 0) (i32 64)))) (mbarrier.arrive m (i64 0))))",
			"k/for b/for t/mbarrier.arrive m: arrives at m[0] while thread 0,0,0 of block 0,0,0 makes it " +
				"at k/for b/for t/if/then/mbarrier.init m (thread 1,0,0 of block 0,0,0), 63 times"},
		{"an mbarrier that is made twice", ring + "(if (eq t (i64 1)) (then (mbarrier.init m (i64 0) (i32 1))))))",
			"k/for b/for t/if#2/then/mbarrier.init m: makes m[0], which thread 0,0,0 of block 0,0,0 has made " +
				"at k/for b/for t/if/then/mbarrier.init m (thread 1,0,0 of block 0,0,0)"},
		{"an mbarrier for nobody",
			ring + "(if (eq t (i64 1)) (then (mbarrier.init m (i64 0) (cast i32 (sub N (i64 64)))))))) ",
			"k/for b/for t/if#2/then/mbarrier.init m: makes m[0] for 0 arrivals (thread 1,0,0 of block 0,0,0)"},

		// Barriers for some warps.
		{"a barrier of two warps", block + "(store s t (f64 1)) (barrier block (number 1) (threads 64)) " +
			"(store v t (load s (sub (i64 63) t)))))", ""},
		{"from two places", block + "(store s t (f64 1)) (if (lt t (i64 32)) " +
			"(then (barrier block (number 1) (threads 64))) (else (barrier block (number 1) (threads 64)))) " +
			"(store v t (load s (sub (i64 63) t)))))", ""},
		{"one warp each", block + "(store s t (f64 1)) (barrier block (number 1) (threads 32)) " +
			"(store v t (load s (sub (i64 63) t)))))",
			"k/for b/for t/store v: loads s[63], which nothing has written (thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store s: stores to s[32] while thread 31,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/store v (thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store v: loads s[31] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store s (thread 32,0,0 of block 0,0,0), 32 times"},
		{"different numbers", block + "(if (lt t (i64 32)) (then (barrier block (number 1) (threads 64))) " +
			"(else (barrier block (number 2) (threads 64))))))",
			"k/for b/for t/if/then/barrier: threads wait for ever: thread 0,0,0 of block 0,0,0 waits " +
				"at k/for b/for t/if/then/barrier for 64 threads at barrier 1, of which 32 are there; " +
				"thread 32,0,0 of block 0,0,0 waits at k/for b/for t/if/else/barrier for 64 threads at barrier 2, " +
				"of which 32 are there (thread 0,0,0 of block 0,0,0)"},
		{"different numbers of threads", block + "(if (lt t (i64 32)) (then (barrier block (number 1) (threads 64))) " +
			"(else (barrier block (number 1) (threads 96))))))",
			"k/for b/for t/if/else/barrier: barrier 1 is for 96 threads here and for 64 " +
				"where thread 0,0,0 of block 0,0,0 waits (thread 32,0,0 of block 0,0,0)"},
		{"one at a numbered barrier, one at that of the block",
			block + "(if (lt t (i64 32)) (then (barrier block (number 1) (threads 64)))) (barrier block)))",
			"k/for b/for t/if/then/barrier: threads wait for ever: thread 0,0,0 of block 0,0,0 waits " +
				"at k/for b/for t/if/then/barrier for 64 threads at barrier 1, of which 32 are there; " +
				"thread 32,0,0 of block 0,0,0 waits at k/for b/for t/barrier (thread 0,0,0 of block 0,0,0)"},

		// Clusters.
		{"a store to the other block", pair + "(store s t (cast f64 t) (rank other)) " +
			"(barrier cluster) (store v (add t (mul (cast i64 r) (i64 0))) (load s t)))))",
			"k/for b/for r/for t/store v: stores to v[0] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for r/for t/store v (thread 0,0,0 of block 1,0,0), 64 times"},
		{"a load from the other block", pair + "(store s t (cast f64 t)) (barrier cluster) " +
			"(let x f64 (load s (sub (i64 63) t) (rank other))) (barrier cluster))))", ""},
		{"a load from a block that may have ended",
			pair + "(store s t (cast f64 t)) (barrier cluster) (let x f64 (load s (sub (i64 63) t) (rank other))))))",
			"k/for b/for r/for t/let x: loads s of block 0, which has ended (thread 0,0,0 of block 1,0,0), 64 times\n" +
				"k: the block may have ended before thread 31,0,0 of block 0,0,0 comes to it " +
				"at k/for b/for r/for t/let x (thread 32,0,0 of block 1,0,0), 2 times"},
		{"a load without a barrier", pair + "(store s t (cast f64 t)) " +
			"(barrier block) (let x f64 (load s (sub (i64 63) t) (rank other))) (barrier cluster))))",
			"k/for b/for r/for t/let x: loads s[63] while thread 63,0,0 of block 1,0,0 stores " +
				"at k/for b/for r/for t/store s (thread 0,0,0 of block 0,0,0), 128 times"},
		{"a store to a block that may not have begun", "(for b i64 block.x (i64 0) (i64 1) (i64 1) " +
			"(for r i32 cluster.x (i32 0) (i32 2) (i32 1) (alloc s f64 shared (i64 64)) " +
			"(for t i64 thread.x (i64 0) (i64 64) (i64 1) " +
			"(store s t (f64 1) (rank (sub (i32 1) r))) (barrier cluster))))",
			"k/for b/for r/for t/store s: stores to s of block 1, which may not have begun " +
				"(thread 0,0,0 of block 0,0,0), 128 times"},
		{"a block that is not there", pair + "(store s t (f64 1) (rank (add r (i32 1)))) (barrier cluster))))",
			"k/for b/for r/for t/store s: stores to s of block 2 in a cluster of 2 " +
				"(thread 0,0,0 of block 1,0,0), 64 times"},
		{"hand over by an mbarrier", pair + "(if (lt t (i64 32)) (then (store s t (cast f64 t) (rank other)) " +
			"(mbarrier.arrive m (i64 0) (rank other))) (else (mbarrier.wait m (i64 0) (i32 0)) " +
			"(let x f64 (load s (sub t (i64 32)))))) (barrier cluster))))", ""},
		{"hand over without a wait", pair + "(if (lt t (i64 32)) " +
			"(then (store s t (cast f64 t) (rank other)) (mbarrier.arrive m (i64 0) (rank other))) " +
			"(else (let x f64 (load s (sub t (i64 32)))))) (barrier cluster))))",
			"k/for b/for r/for t/if#2/else/let x: loads s[0], which nothing has written " +
				"(thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for r/for t/if#2/then/store s: stores to s[0] while thread 32,0,0 of block 0,0,0 loads " +
				"at k/for b/for r/for t/if#2/else/let x (thread 0,0,0 of block 1,0,0), 32 times\n" +
				"k/for b/for r/for t/if#2/else/let x: loads s[0] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for r/for t/if#2/then/store s (thread 32,0,0 of block 1,0,0), 32 times"},
		{"the end of a block keeps until the others are done", pair + "(if (lt t (i64 32)) " +
			"(then (store s t (cast f64 t) (rank other)) (mbarrier.arrive m (i64 0) (rank other))) " +
			"(else (mbarrier.wait m (i64 0) (i32 0)) (let x f64 (load s (sub t (i64 32)))))))))", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := exec(t, test.body, sim.Options{}).Err(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
