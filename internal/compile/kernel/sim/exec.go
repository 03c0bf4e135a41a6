package sim

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// run executes instructions until the warp has to wait or has ended.
func (w *warp) run() {
	m := w.m
	code := m.p.code
	w.stamp.team = m.epoch // grid barriers have moved it on
	for turn := 1; ; turn++ {
		in := &code[w.pc]
		w.pc++
		if m.left--; m.left < 0 {
			w.fault(OutOfSteps, in, 0, "the run is given up after %d instructions", m.opts.Steps)
			m.stopped = true
			return
		}
		switch in.op {
		case opMovF:
			w.f[in.d] = w.f[in.a]
		case opMovI:
			w.i[in.d] = w.i[in.a]
		case opSelectF:
			selectLanes(&w.f[in.d], &w.i[in.a], &w.f[in.b], &w.f[in.c], w.n)
		case opSelectI:
			selectLanes(&w.i[in.d], &w.i[in.a], &w.i[in.b], &w.i[in.c], w.n)
		case opBinaryF64:
			w.count(in)
			binaryF64(in, &w.f[in.d], &w.f[in.a], &w.f[in.b], w.n)
		case opBinaryF32:
			w.count(in)
			binaryF32(in, &w.f[in.d], &w.f[in.a], &w.f[in.b], w.n)
		case opFma:
			w.m.counts.ops[in.typ][op.Mul] += w.active
			w.m.counts.ops[in.typ][op.Add] += w.active
			w.m.counts.fused[in.typ] += w.active
			fma(in, &w.f[in.d], &w.f[in.a], &w.f[in.b], &w.f[in.c], w.n)
		case opBinaryI:
			w.count(in)
			binaryI(in, &w.i[in.d], &w.i[in.a], &w.i[in.b], w.n)
		case opCompareF:
			w.count(in)
			compare(in, &w.i[in.d], &w.f[in.a], &w.f[in.b], w.n)
		case opCompareI:
			w.count(in)
			compare(in, &w.i[in.d], &w.i[in.a], &w.i[in.b], w.n)
		case opNegF:
			w.count(in)
			d, x := &w.f[in.d], &w.f[in.a]
			for l := range w.n {
				d[l&31] = -x[l&31]
			}
		case opNegI:
			w.count(in)
			d, x := &w.i[in.d], &w.i[in.a]
			for l := range w.n {
				d[l&31] = reduce(in.typ, -x[l&31])
			}
		case opNot:
			w.count(in)
			d, x := &w.i[in.d], &w.i[in.a]
			for l := range w.n {
				d[l&31] = x[l&31] ^ 1
			}
		case opIntToF64, opIntToF32, opRoundF32, opFloatToInt, opIntToInt:
			w.convert(in)
		case opCall:
			m.counts.funcs[in.typ][in.sub] += w.active
			w.call(in)
		case opRandom:
			w.random(in)

		case opSetF:
			setLanes(&w.f[in.d], &w.f[in.a], w.mask)
		case opSetI:
			setLanes(&w.i[in.d], &w.i[in.a], w.mask)
		case opLoad:
			w.load(in)
		case opStore:
			w.store(in)
		case opLoadRemote:
			w.remote(in, "loads", (*warp).loadFrom)
		case opStoreRemote:
			w.remote(in, "stores to", (*warp).storeTo)
		case opStoresRemote:
			w.remote(in, "stores to", (*warp).storeVectorTo)
		case opLoadVector:
			w.loadVector(in)
		case opStoreVector:
			w.storeVector(in)
		case opShuffle:
			w.shuffle(in)
		case opAlloc:
			w.alloc(in)

		case opPush:
			if !w.push(w.where(in.a)) {
				w.pc = in.to
			}
		case opFlip:
			if !w.flip() {
				w.pc = in.to
			}
		case opPop:
			w.pop()
		case opJump:
			w.pc = in.to
		case opKeep:
			w.push(w.mask)
		case opStep:
			w.step(in)
		case opWhile:
			if !w.narrow(w.less(in.a, in.b)) {
				w.pc = in.to
			}
		case opAdvance:
			d, x := &w.i[in.d], &w.i[in.a]
			for l := range w.n {
				d[l&31] += x[l&31]
			}

		case opThread:
			d, lo, by := &w.i[in.d], &w.i[in.a], &w.i[in.c]
			for l := range w.n {
				d[l&31] = lo[l&31] + w.index[in.sub][l&31]*by[l&31]
			}
		case opBlock:
			d, lo, by := &w.i[in.d], &w.i[in.a], &w.i[in.c]
			for l := range w.n {
				d[l&31] = lo[l&31] + w.block.index[in.sub]*by[l&31]
			}
		case opCluster:
			d, lo, by := &w.i[in.d], &w.i[in.a], &w.i[in.c]
			for l := range w.n {
				d[l&31] = lo[l&31] + w.block.inCluster[in.sub]*by[l&31]
			}

		case opTeam:
			m.epoch++
			w.stamp.team = m.epoch
		case opMember:
			w.member++
			w.stamp.member = w.member
			w.nextPhase()
		case opDisband:
			m.epoch++
			w.member = 0
			w.stamp.team, w.stamp.member = m.epoch, 0
		case opSpread:
			w.spread(in)
		case opNeutral:
			w.neutral(in)
		case opVector:
			w.push(w.mask)
			w.lo, w.by = w.i[in.a][0], w.i[in.c][0]
			w.next, w.trips = 0, trips(w.lo, w.i[in.b][0], max(w.by, 1))
			w.n = lanes
			w.nextPhase()
		case opChunk:
			if !w.chunk(in) {
				w.pc = in.to
			}
		case opScalar:
			w.pop()
			w.n = 1
			w.stamp.lane = 0
			w.nextPhase()
		case opGather:
			w.gather(in)

		case opBarrier:
			if w.barrier(in) {
				return
			}
		case opGate:
			if w.gate(in) {
				return
			}
		case opAsync:
			w.async(in)
		case opCommit:
			w.flight.commit(w.mask)
		case opWait:
			w.wait(in)
		case opFence:
			w.fence(in)
		case opTensor:
			w.tensor(in)
		case opBulk:
			w.bulk(in)
		case opInit:
			w.initMbarrier(in)
		case opArrive:
			w.arrive(in)
		case opMbarrier:
			w.waits = in
			if !w.passes() {
				w.state = atMbarrier
				return
			}
		case opFlagSet:
			w.setFlags(in)
		case opFlagWait:
			w.waits = in
			if !w.flagged() {
				w.state = atFlag
				return
			}
		case opEnd:
			w.end(in)
			return
		}
		if m.stopped || turn == m.opts.Turn {
			return
		}
	}
}

// count counts an operation of every active lane.
func (w *warp) count(in *instr) { w.m.counts.ops[in.typ][in.sub] += w.active }

// nextPhase starts a phase of a CPU's thread.
func (w *warp) nextPhase() { w.stamp.sync++ }

// less returns the active lanes at which I[a] < I[b].
func (w *warp) less(a, b int32) uint32 {
	x, y := &w.i[a], &w.i[b]
	mask := uint32(0)
	for l := range w.n {
		if x[l&31] < y[l&31] {
			mask |= 1 << l
		}
	}
	return w.mask & mask
}

// step stops the run where a loop would not move on.
func (w *warp) step(in *instr) {
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		if s := w.i[in.a][l]; s < 1 {
			w.fault(BadStep, in, l, "the step is %d", s)
			w.m.stopped = true
			return
		}
	}
}

// chunk moves a vector loop on by up to 32 iterations and reports whether
// there were any left.
func (w *warp) chunk(in *instr) bool {
	n := min(w.trips-w.next, lanes)
	if n <= 0 {
		return false
	}
	w.narrow(uint32(1<<n - 1))
	d := &w.i[in.d]
	for l := range int64(lanes) {
		d[l] = w.lo + (w.next+l)*w.by
	}
	w.stamp.lane = uint32(w.next)
	w.next += n
	return true
}
