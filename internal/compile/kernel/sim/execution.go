package sim

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// execution is one run of a program.
type execution struct {
	p        *Program
	opts     Options
	blocks   [3]int64 // of the launch, x first
	threads  [3]int64 // of a block
	cluster  [3]int64 // blocks of a cluster; ones where there are none
	warps    int      // of a block
	agents   int      // of a group
	bulks    int      // of them, the last, those that fill memory for mbarriers
	mem      []*Memory
	sizes    []int                // cells by slot
	slots    []int                // number of a block's first mbarrier, by slot
	tensors  map[int32]*tensorMap // by slot
	barriers int                  // mbarriers of a block
	lits     []literal
	idle     []*group         // that have run, to be used again
	epoch    uint32           // grid barriers passed, from 1
	copies   uint32           // asynchronous copies that have started
	left     int64            // instructions until the run is given up
	flags    map[int32][]flag // by slot
	stopped  bool
	counts   Counts
	faults   []Fault
	seen     map[faultKey]int
}

type faultKey struct {
	kind Kind
	at   int32
}

// group is blocks that run at once and know each other's progress: those of a
// cluster, or one block, or all blocks if they wait for each other by flags. A kernel for a CPU
// has one of one warp of one lane.
type group struct {
	number uint32
	blocks []*block
	warps  []*warp // of all blocks
}

// block is a block with its warps and what they share.
type block struct {
	group     *group
	rank      int      // in its cluster
	index     [3]int64 // of its cluster, in a grid of clusters
	inCluster [3]int64
	at        [3]int64 // in the grid of blocks
	warps     []*warp
	shared    []*Memory    // by slot; nil for other slots
	mbarriers [][]mbarrier // likewise
	gates     [16]gate     // numbered barriers
	running   int          // warps that have not ended
	known     clock        // of all warps that have ended
	guests    []stamp      // latest access by each agent of another block
}

// grid runs all groups: one after the other, or at once where they meet.
func (m *execution) grid() {
	total := int64(1)
	for d := range m.blocks {
		total *= m.blocks[d] / m.cluster[d]
	}
	if total == 0 || m.warps == 0 {
		return
	}
	if m.p.resides {
		blocks := m.blocks[0] * m.blocks[1] * m.blocks[2]
		if r := m.opts.Resident; r > 0 && blocks > int64(r) {
			m.residency(blocks)
			return
		}
		var all []*group
		for n := range total {
			all = append(all, m.group(n))
		}
		m.run(all)
		return
	}
	for n := range total {
		if m.stopped {
			return
		}
		g := m.group(n)
		m.run([]*group{g})
		m.idle = append(m.idle, g)
	}
}

// residency reports a grid barrier that would never be passed, or a flag that may never be set.
func (m *execution) residency(total int64) {
	for _, in := range m.p.code {
		what := ""
		switch {
		case in.op == opBarrier && kernel.Scope(in.sub) == kernel.GridScope:
			what = "a barrier"
		case in.op == opFlagWait:
			what = "a wait for others"
		default:
			continue
		}
		m.add(Fault{Kind: Residency, Text: fmt.Sprintf(
			"%s of %d blocks on a device that holds %d at once", what, total, m.opts.Resident)}, in.at)
		return
	}
}

// group returns group number n, ready to run.
func (m *execution) group(n int64) *group {
	var g *group
	if last := len(m.idle) - 1; last >= 0 {
		g, m.idle = m.idle[last], m.idle[:last]
	} else {
		g = m.newGroup()
	}
	g.number = uint32(n)
	for _, b := range g.blocks {
		b.at = m.blockAt(n, int64(b.rank))
		for d, c := range m.cluster {
			b.index[d], b.inCluster[d] = b.at[d]/c, b.at[d]%c
			if m.p.flags {
				b.index[d] = b.at[d]
			}
		}
		b.start()
	}
	return g
}

func (m *execution) newGroup() *group {
	g := &group{}
	for range m.cluster[0] * m.cluster[1] * m.cluster[2] {
		b := m.newBlock(g)
		g.blocks = append(g.blocks, b)
		g.warps = append(g.warps, b.warps...)
	}
	return g
}

func (m *execution) newBlock(g *group) *block {
	b := &block{
		group: g, rank: len(g.blocks), shared: make([]*Memory, len(m.p.slots)),
		mbarriers: make([][]mbarrier, len(m.p.slots)),
	}
	for i, s := range m.p.slots {
		switch s.buffer.Space {
		case kernel.Shared:
			b.shared[i] = New(s.buffer.Elem, m.sizes[i])
			b.shared[i].history = newHistory(m.sizes[i], m.p.pairs)
			if s.bulk {
				b.shared[i].accesses = make(accesses, m.sizes[i])
			}
		case kernel.Mbarrier:
			b.mbarriers[i] = make([]mbarrier, m.sizes[i])
		}
	}
	threads := m.threads[0] * m.threads[1] * m.threads[2]
	for first := int64(0); first < threads; first += lanes {
		b.warps = append(b.warps, m.newWarp(b, first, min(lanes, threads-first)))
	}
	if m.p.pairs {
		b.known, b.guests = make(clock, m.agents), make([]stamp, m.agents)
	}
	return b
}

// start makes a block ready to run.
func (b *block) start() {
	for _, s := range b.shared {
		if s != nil {
			s.forget()
		}
	}
	for _, list := range b.mbarriers {
		clear(list)
	}
	b.gates = [len(b.gates)]gate{}
	b.running = len(b.warps)
	clear(b.known)
	clear(b.guests)
	for _, w := range b.warps {
		w.start()
	}
}

// run executes groups until all their warps have ended. Each warp runs until
// it has to wait.
func (m *execution) run(groups []*group) {
	for !m.stopped {
		busy, ended := false, true
		for _, g := range groups {
			for _, w := range g.warps {
				if w.state == atMbarrier && w.passes() || w.state == atFlag && w.flagged() {
					w.state = ready
				}
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
		released := m.releaseGrid(groups)
		for _, g := range groups {
			released = m.releaseCluster(g) || released
			for _, b := range g.blocks {
				released = m.releaseBlock(b) || released
			}
		}
		if !busy && !released {
			m.stuck(groups)
			return
		}
	}
}

// name names a thread for a message, by its group and the number of its lane
// there.
func (m *execution) name(group, lane uint32) string {
	perBlock := uint32(m.warps * lanes)
	return m.nameOf(int64(group), int64(lane/perBlock), int64(lane%perBlock))
}

func (m *execution) nameOf(group, rank, thread int64) string {
	b, t := m.blockAt(group, rank), m.threadAt(thread)
	return fmt.Sprintf("thread %d,%d,%d of block %d,%d,%d", t[0], t[1], t[2], b[0], b[1], b[2])
}

// blockAt returns where in the grid a group's block is.
func (m *execution) blockAt(group, rank int64) [3]int64 {
	var at [3]int64
	for d, c := range m.cluster {
		clusters := m.blocks[d] / c
		at[d] = group%clusters*c + rank%c
		group, rank = group/clusters, rank/c
	}
	return at
}

func (m *execution) threadAt(n int64) [3]int64 {
	return [3]int64{n % m.threads[0], n / m.threads[0] % m.threads[1], n / m.threads[0] / m.threads[1]}
}

// add notes a fault, and stops the run after enough of them.
func (m *execution) add(f Fault, at int32) {
	key := faultKey{f.Kind, at}
	if i, ok := m.seen[key]; ok {
		m.faults[i].Times++
		return
	}
	f.Times = 1
	f.Path, f.Line = m.p.places[at].path, kernel.Lines(m.p.kernel)[m.p.places[at].stmt]
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
func (m *execution) report() *Report {
	for i, s := range m.p.slots {
		m.counts.Spaces[s.buffer.Space].add(&m.counts.Buffers[i])
	}
	for _, mem := range m.mem {
		mem.history = nil
	}
	return &Report{Faults: m.faults, Counts: m.counts}
}
