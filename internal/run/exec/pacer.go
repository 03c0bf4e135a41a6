package exec

import "time"

// pacer says when to wait for a device that queues launches. Waits are frequent enough to show progress, to react to
// interrupts and to tell a hang from a long queue, and rare enough to cost nothing.
type pacer struct {
	batch  int           // launches between two waits
	queued int           // launches since the last
	last   time.Time     // of the last
	long   time.Duration // a batch that takes longer is too long
	syncs  int           // waits so far
	each   time.Duration // that a launch took, in the batch before
}

// A batch that takes less than a quarter of what is too long is too short.
const (
	longBatch  = 40 * time.Millisecond
	mostQueued = 1 << 13
)

// newPacer returns a pacer for launches that may take no longer than deadline;
// 0 is none. What is queued behind others must not seem to hang.
func newPacer(deadline time.Duration) pacer {
	p := pacer{long: longBatch}
	if deadline > 0 {
		p.long = min(p.long, deadline/4)
	}
	return p
}

func (p *pacer) start(now time.Time) {
	p.batch, p.queued, p.last = max(1, p.batch), 0, now
}

// due counts launches and reports whether to wait.
func (p *pacer) due(launches int) bool {
	p.queued += launches
	return p.queued >= p.batch
}

// synced learns from a wait that has just ended.
func (p *pacer) synced(now time.Time) {
	took := now.Sub(p.last)
	switch {
	case took < p.long/4:
		p.batch = min(2*p.batch, mostQueued)
	case took > p.long:
		p.batch = max(p.batch/2, 1)
	}
	p.syncs++
	p.each = took / time.Duration(p.queued)
	p.queued, p.last = 0, now
}
