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
		{time.Microsecond, 1024}, {100 * time.Microsecond, 128}, {5 * time.Millisecond, 2}, {time.Second, 1},
	} {
		var p pacer
		now := time.Unix(0, 0)
		p.start(now)
		waits, since := 0, 0
		for range 20_000 {
			now = now.Add(test.launch)
			since++
			if p.due() {
				p.synced(now)
				waits++
				if waits == 16 && since != test.want {
					t.Errorf("launches of %v: %d in a batch, want %d", test.launch, since, test.want)
				}
				since = 0
			}
		}
	}
	p := pacer{batch: 1024}
	p.start(time.Unix(0, 0))
	if p.due(); p.queued != 1 || p.batch != 1024 {
		t.Errorf("what was learnt is forgotten: %+v", p)
	}
}
