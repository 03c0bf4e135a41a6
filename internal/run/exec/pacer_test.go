package exec

import (
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	for _, test := range []struct {
		launch time.Duration
		want   int // launches in a batch once that has settled
	}{
		{time.Microsecond, 8192}, {100 * time.Microsecond, 128}, {5 * time.Millisecond, 2}, {time.Second, 1},
	} {
		p := newPacer(0)
		now := time.Unix(0, 0)
		p.start(now)
		waits, since := 0, 0
		for range 200_000 {
			now = now.Add(test.launch)
			since++
			if p.due(1) {
				p.synced(now)
				waits++
				if waits == 16 && since != test.want {
					t.Errorf("launches of %v: %d in a batch, want %d", test.launch, since, test.want)
				}
				since = 0
			}
		}
	}
	p := pacer{batch: 1024, long: longBatch}
	p.start(time.Unix(0, 0))
	if p.due(1); p.queued != 1 || p.batch != 1024 {
		t.Errorf("what was learnt is forgotten: %+v", p)
	}
}

// No wait is so long that a launch within its deadline could be taken for one
// that hangs.
func TestPacerDeadline(t *testing.T) {
	p := newPacer(20 * time.Millisecond)
	now := time.Unix(0, 0)
	p.start(now)
	for range 1000 {
		now = now.Add(time.Millisecond)
		if p.due(1) {
			if took := now.Sub(p.last); took > 10*time.Millisecond {
				t.Errorf("%v without a sign of life", took)
			}
			p.synced(now)
		}
	}
	if p.each != time.Millisecond || p.syncs < 100 {
		t.Errorf("%+v", p)
	}
}
