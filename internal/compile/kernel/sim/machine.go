package sim

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// machine is one run of a program.
type machine struct {
	p       *Program
	opts    Options
	blocks  [3]int64 // of the launch, x first
	threads [3]int64 // of a block
	mem     []*Memory
	sizes   []int // cells by slot
	lits    []literal
	idle    []*block // that have run, to be used again
	epoch   uint32   // grid barriers passed, from 1
	left    int64    // instructions until the run is given up
	stopped bool
	counts  Counts
	faults  []Fault
	seen    map[faultKey]int
}

type faultKey struct {
	kind Kind
	at   int32
}

// block is a block with its warps. A kernel for a CPU has one block of one warp of
// one lane.
type block struct {
	index  [3]int64
	number uint32
	phase  uint32
	warps  []*warp
	shared []*Memory // by slot; nil for other slots
}

// grid runs all blocks: one after the other, or at once where they meet.
func (m *machine) grid() {
	total := m.blocks[0] * m.blocks[1] * m.blocks[2]
	if m.threads[0]*m.threads[1]*m.threads[2] == 0 {
		return
	}
	if m.p.resides {
		if r := m.opts.Resident; r > 0 && total > int64(r) {
			m.residency(total)
			return
		}
		var all []*block
		for n := range total {
			all = append(all, m.block(n))
		}
		m.run(all)
		return
	}
	for n := range total {
		if m.stopped {
			return
		}
		b := m.block(n)
		m.run([]*block{b})
		m.idle = append(m.idle, b)
	}
}

// residency reports a grid barrier that would never be passed.
func (m *machine) residency(total int64) {
	for _, in := range m.p.code {
		if in.op == opBarrier && kernel.Scope(in.sub) == kernel.GridScope {
			m.add(Fault{Kind: Residency, Path: m.p.places[in.at].path, Text: fmt.Sprintf("a barrier of %d blocks on a device that holds %d at once", total, m.opts.Resident)}, in.at)
			return
		}
	}
}

// block returns block number n, ready to run.
func (m *machine) block(n int64) *block {
	var b *block
	if last := len(m.idle) - 1; last >= 0 {
		b, m.idle = m.idle[last], m.idle[:last]
	} else {
		b = m.newBlock()
	}
	b.index = [3]int64{n % m.blocks[0], n / m.blocks[0] % m.blocks[1], n / m.blocks[0] / m.blocks[1]}
	b.number = uint32(n)
	b.phase = 1
	for _, s := range b.shared {
		if s != nil {
			s.forget()
		}
	}
	for _, w := range b.warps {
		w.start()
	}
	return b
}

func (m *machine) newBlock() *block {
	b := &block{shared: make([]*Memory, len(m.p.slots))}
	for i, s := range m.p.slots {
		if s.buffer.Space == kernel.Shared {
			mem := New(s.buffer.Elem, m.sizes[i])
			mem.shadow = make([]shadow, mem.n)
			b.shared[i] = mem
		}
	}
	threads := m.threads[0] * m.threads[1] * m.threads[2]
	for first := int64(0); first < threads; first += lanes {
		b.warps = append(b.warps, m.newWarp(b, first, min(lanes, threads-first)))
	}
	return b
}

// run executes blocks until all their warps have ended. Each warp runs until
// it has to wait.
func (m *machine) run(blocks []*block) {
	for !m.stopped {
		busy, ended := false, true
		for _, b := range blocks {
			for _, w := range b.warps {
				if w.state == ready {
					busy = true
					w.run()
					if m.stopped {
						return
					}
				}
				ended = ended && w.state == done
			}
		}
		if ended {
			return
		}
		released := m.releaseGrid(blocks)
		for _, b := range blocks {
			released = m.releaseBlock(b) || released
		}
		if !busy && !released {
			m.stuck(blocks)
			return
		}
	}
}

// releaseBlock lets a block's warps go on if all of them are at one barrier.
func (m *machine) releaseBlock(b *block) bool {
	first := b.warps[0]
	for _, w := range b.warps {
		if w.state != atBlock || w.pc != first.pc {
			return false
		}
	}
	for _, w := range b.warps {
		w.state = ready
	}
	b.phase++
	m.counts.Barriers[kernel.BlockScope]++
	return true
}

// releaseGrid lets all warps go on if all of them are at one grid barrier.
func (m *machine) releaseGrid(blocks []*block) bool {
	first := blocks[0].warps[0]
	for _, b := range blocks {
		for _, w := range b.warps {
			if w.state != atGrid || w.pc != first.pc {
				return false
			}
		}
	}
	for _, b := range blocks {
		for _, w := range b.warps {
			w.state = ready
		}
	}
	m.epoch++
	m.counts.Barriers[kernel.GridScope]++
	return true
}

// stuck reports why warps wait for ever.
func (m *machine) stuck(blocks []*block) {
	var waits, other *warp
	for _, b := range blocks {
		for _, w := range b.warps {
			switch {
			case waits == nil && w.state != done:
				waits = w
			case waits != nil && (w.state != waits.state || w.pc != waits.pc):
				other = w
			case waits == nil:
				other = w
			}
		}
	}
	in := &m.p.code[waits.pc-1]
	text := "threads wait here for ever"
	if other != nil {
		where := "has ended"
		if other.state != done {
			where = "waits at " + m.p.places[m.p.code[other.pc-1].at].path
		}
		text = fmt.Sprintf("not all threads come to this barrier: %s %s", m.name(other.block.number, uint32(other.first)), where)
	}
	waits.fault(Divergence, in, 0, "%s", text)
	m.stopped = true
}

// name names a thread for a message.
func (m *machine) name(block, thread uint32) string {
	b, t := m.blockAt(int64(block)), m.threadAt(int64(thread))
	return fmt.Sprintf("thread %d,%d,%d of block %d,%d,%d", t[0], t[1], t[2], b[0], b[1], b[2])
}

func (m *machine) blockAt(n int64) [3]int64 {
	return [3]int64{n % m.blocks[0], n / m.blocks[0] % m.blocks[1], n / m.blocks[0] / m.blocks[1]}
}

func (m *machine) threadAt(n int64) [3]int64 {
	return [3]int64{n % m.threads[0], n / m.threads[0] % m.threads[1], n / m.threads[0] / m.threads[1]}
}

// add notes a fault, and stops the run after enough of them.
func (m *machine) add(f Fault, at int32) {
	key := faultKey{f.Kind, at}
	if i, ok := m.seen[key]; ok {
		m.faults[i].Times++
		return
	}
	f.Times = 1
	m.seen[key] = len(m.faults)
	m.faults = append(m.faults, f)
	most := m.opts.Faults
	if most == 0 {
		most = 20
	}
	if len(m.faults) >= most {
		m.stopped = true
	}
}

// report closes the counts.
func (m *machine) report() *Report {
	for i, s := range m.p.slots {
		m.counts.Spaces[s.buffer.Space].add(&m.counts.Buffers[i])
	}
	for _, mem := range m.mem {
		mem.shadow = nil
	}
	return &Report{Faults: m.faults, Counts: m.counts}
}
