package sim

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

const (
	maxThreads = 1 << 16 // of a block, so that a slip in a test does not take all memory
	maxBlocks  = 1 << 31
)

// newExecution prepares a run: it sizes the launch, checks the arguments and makes
// the memory that all blocks share.
func (p *Program) newExecution(args Args, opts Options) (*execution, error) {
	k := p.kernel
	if err := args.check(k); err != nil {
		return nil, err
	}
	m := &execution{p: p, opts: opts, left: opts.Steps, seen: map[faultKey]int{}, epoch: 1,
		tensors: map[int32]*tensorMap{}}
	if m.left == 0 {
		m.left = 1<<63 - 1
	}
	env := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		env[v] = args.Scalars[i]
		m.lits = append(m.lits, literal{p.scalars[i], args.Scalars[i]})
	}
	m.lits = append(m.lits, p.lits...)
	g, err := kernel.LaunchGeometry(k, env)
	if err != nil {
		return nil, err
	}
	m.blocks, m.threads, m.cluster = g.Blocks, g.Threads, g.Cluster
	if m.cluster == [3]int64{} {
		m.cluster = [3]int64{1, 1, 1}
	}
	if p.flags { // all blocks know each other's progress
		m.cluster, m.flags = m.blocks, map[int32][]flag{}
	}
	if !within(m.threads, maxThreads) {
		return nil, fmt.Errorf("%s: a block of %d by %d by %d threads",
			k.Name, m.threads[0], m.threads[1], m.threads[2])
	}
	if !within(m.blocks, maxBlocks) {
		return nil, fmt.Errorf("%s: a launch of %d by %d by %d blocks", k.Name, m.blocks[0], m.blocks[1], m.blocks[2])
	}
	m.counts.Buffers = make([]Traffic, len(p.slots))
	for i, s := range p.slots {
		n := kernel.Eval(s.buffer.Cells, env).I
		if n < 0 || n > 1<<40 {
			return nil, fmt.Errorf("%s: the buffer %s has %d cells", k.Name, s.buffer.Name, n)
		}
		m.sizes = append(m.sizes, int(n))
		if p.flagged[s.buffer] {
			m.flags[int32(i)] = make([]flag, n)
		}
		m.slots = append(m.slots, m.barriers)
		if s.buffer.Space == kernel.Mbarrier {
			m.barriers += int(n)
		}
		if i < len(args.Buffers) {
			if err := m.argument(s.buffer, args.Buffers[i], int(n)); err != nil {
				return nil, err
			}
			if s.buffer.Tensor != nil {
				if m.tensors[int32(i)], err = newTensorMap(k, s.buffer, env, n); err != nil {
					return nil, err
				}
			}
		}
	}
	blocks := int(m.cluster[0] * m.cluster[1] * m.cluster[2])
	m.warps = int((m.threads[0]*m.threads[1]*m.threads[2] + lanes - 1) / lanes)
	m.agents, m.bulks = blocks*(m.warps+m.barriers), blocks*m.barriers
	return m, nil
}

// argument takes a buffer argument.
func (m *execution) argument(b *kernel.Buffer, mem *Memory, n int) error {
	if mem.n != n {
		return fmt.Errorf("%s: the buffer %s takes %d cells, not %d", m.p.kernel.Name, b.Name, n, mem.n)
	}
	mem.history = nil
	if b.Mode != kernel.In {
		mem.history = newHistory(mem.n, m.p.pairs)
	}
	m.mem = append(m.mem, mem)
	return nil
}

// within reports whether the product of three sizes is no more than a limit.
func within(size [3]int64, limit int64) bool {
	n := int64(1)
	for _, s := range size {
		if s > limit || n*s > limit {
			return false
		}
		n *= s
	}
	return true
}

// trips returns the number of iterations of a loop.
func trips(lo, hi, step int64) int64 {
	if hi <= lo {
		return 0
	}
	return int64((uint64(hi)-uint64(lo)-1)/uint64(step)) + 1
}
