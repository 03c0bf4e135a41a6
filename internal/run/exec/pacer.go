package exec

import "time"

// pacer says when to wait for a device that queues launches: often enough that
// progress is known, interrupts are heard and a hang is told from a long queue,
// and seldom enough to cost nothing.
type pacer struct {
	batch  int       // launches between two waits
	queued int       // launches since the last
	last   time.Time // of the last
}

// Between these times, a batch is neither too short nor too long.
const (
	shortBatch = 10 * time.Millisecond
	longBatch  = 40 * time.Millisecond
	mostQueued = 1 << 10
)

func (p *pacer) start(now time.Time) {
	p.batch, p.queued, p.last = max(1, p.batch), 0, now
}

// due counts a launch and reports whether to wait.
func (p *pacer) due() bool {
	p.queued++
	return p.queued >= p.batch
}

// synced learns from a wait that has just ended.
func (p *pacer) synced(now time.Time) {
	switch took := now.Sub(p.last); {
	case took < shortBatch:
		p.batch = min(2*p.batch, mostQueued)
	case took > longBatch:
		p.batch = max(p.batch/2, 1)
	}
	p.queued, p.last = 0, now
}
