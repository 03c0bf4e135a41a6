package sim

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// warp is up to 32 threads that execute one instruction at a time together;
// for a CPU, one thread with its vector lanes.
type warp struct {
	m     *execution
	block *block
	first int64  // number of the first thread in the block
	all   uint32 // mask of the threads that there are
	mem   []*Memory
	index [3][lanes]int64 // of the threads in the block

	f []([lanes]float64)
	i []([lanes]int64)

	state  state
	pc     int32
	n      int    // lanes to compute
	mask   uint32 // lanes that are active
	active int64  // their number
	masks  []masks

	stamp  stamp  // of lane 0 of this warp, at this time
	member uint32 // of CPU teams

	agent  int
	clock  clock   // what all lanes know; nil on a CPU
	apart  []clock // what some lanes know beside it, until the next sync; nil for none
	synced uint32  // the time up to which all lanes know what the warp did
	waits  *instr  // the wait at an mbarrier or for flags, if it waits there
	flight flight  // asynchronous copies that have not been waited for
	fences []loads // that the lanes have made before bulk copies, in the order of time

	// The vector loop that runs: its next iteration, the number of them, and
	// its bounds.
	next, trips, lo, by int64
}

// masks is what a condition leaves on the stack: the mask around it and the
// lanes at which it held, however the condition's operands change since.
type masks struct{ outer, held uint32 }

type state uint8

const (
	ready state = iota
	atBlock
	atCluster
	atGrid
	atGate
	atMbarrier
	atFlag
	done
)

func (m *execution) newWarp(b *block, first, n int64) *warp {
	w := &warp{
		m: m, block: b, first: first, all: uint32(1<<n - 1),
		agent: b.rank*m.warps + int(first/lanes),
		f:     make([][lanes]float64, m.p.nf), i: make([][lanes]int64, m.p.ni),
		mem: make([]*Memory, len(m.p.slots)),
	}
	for l := range lanes {
		t := m.threadAt(first + int64(l))
		for d := range t {
			w.index[d][l] = t[d]
		}
	}
	for _, lit := range m.lits {
		if lit.value.T.IsFloat() {
			for l := range lanes {
				w.f[lit.reg][l] = lit.value.F
			}
		} else {
			for l := range lanes {
				w.i[lit.reg][l] = lit.value.I
			}
		}
	}
	for i, s := range m.p.slots {
		switch {
		case i < len(m.mem):
			w.mem[i] = m.mem[i]
		case !s.private: // nil for mbarriers
			w.mem[i] = b.shared[i]
		case s.perLane:
			w.mem[i] = New(s.buffer.Elem, m.sizes[i]*lanes)
		default:
			w.mem[i] = New(s.buffer.Elem, m.sizes[i])
			w.mem[i].history = newHistory(m.sizes[i], false)
		}
	}
	if m.p.gpu {
		w.clock = make(clock, m.agents)
	}
	return w
}

// start puts the warp before the first instruction.
func (w *warp) start() {
	w.state, w.pc = ready, 0
	w.masks = w.masks[:0]
	w.n = bits.Len32(w.all)
	w.narrow(w.all)
	w.stamp = stamp{team: w.m.epoch, member: w.block.group.number, time: 1, sync: 1, lane: uint32(w.agent * lanes)}
	clear(w.clock)
	w.apart, w.synced = nil, 0
	w.flight, w.fences = flight{}, nil
}

// narrow sets the mask and reports whether any lane is active.
func (w *warp) narrow(mask uint32) bool {
	w.mask = mask
	w.active = int64(bits.OnesCount32(mask))
	return mask != 0
}

// push keeps the mask and narrows it; it reports whether any lane is active.
func (w *warp) push(held uint32) bool {
	w.masks = append(w.masks, masks{w.mask, held})
	return w.narrow(held)
}

// flip activates the lanes at which a condition did not hold.
func (w *warp) flip() bool {
	m := w.masks[len(w.masks)-1]
	return w.narrow(m.outer &^ m.held)
}

func (w *warp) pop() {
	last := len(w.masks) - 1
	w.narrow(w.masks[last].outer)
	w.masks = w.masks[:last]
}

// where returns the active lanes at which a register is not zero.
func (w *warp) where(r int32) uint32 {
	x := &w.i[r]
	mask := uint32(0)
	for l := range w.n {
		if x[l&31] != 0 {
			mask |= 1 << l
		}
	}
	return w.mask & mask
}

// fault reports what a lane did at an instruction.
func (w *warp) fault(kind Kind, in *instr, lane int, format string, args ...any) {
	key := faultKey{kind, in.at}
	if i, ok := w.m.seen[key]; ok {
		w.m.faults[i].Times++
		return
	}
	f := Fault{Kind: kind, Text: fmt.Sprintf(format, args...)}
	var where []string
	if w.m.p.gpu {
		f.Block = w.block.at
		f.Thread = w.m.threadAt(w.first + int64(lane))
		where = append(where, w.name(lane))
	}
	if v := w.loops(in.at, lane); v != "" {
		where = append(where, v)
	}
	f.Where = strings.Join(where, ", ")
	w.m.add(f, in.at)
}

// name names the thread of a lane.
func (w *warp) name(lane int) string {
	return w.m.name(w.block.group.number, w.stamp.lane+uint32(lane))
}

// loops tells the values of the variables of the loops around a statement,
// those of threads and blocks apart.
func (w *warp) loops(at int32, lane int) string {
	var out []string
	p := &w.m.p.places[at]
	for i, l := range p.loops {
		if l.Tag.IsBlock() || l.Tag.IsCluster() || l.Tag.IsThread() {
			continue
		}
		from := lane
		if w.outsideVector(p.loops[i:]) {
			from = 0
		}
		out = append(out, fmt.Sprintf("%s=%d", l.Var.Name, w.i[p.vars[i]][from]))
	}
	return strings.Join(out, " ")
}

// outsideVector reports whether the first of some nested loops is around a
// vector loop, so that its variable is in lane 0.
func (w *warp) outsideVector(nest []*kernel.Loop) bool {
	for _, l := range nest[1:] {
		if l.Tag == kernel.Vector {
			return true
		}
	}
	return false
}
