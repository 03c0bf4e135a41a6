package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/exec"
)

func TestMeter(t *testing.T) {
	for _, test := range []struct {
		name     string
		terminal bool
		total    int64
		from     int64
		want     string
	}{
		{"file", false, 1000, 0, "check: 50 of 1,000 iterations, 2.5 GPoints/s, 20s left\n" +
			"check: 150 of 1,000 iterations, 2.5 GPoints/s, 1m8s left\n"},
		{"resumed", false, 1000, 40, "check: 50 of 1,000 iterations, 2.5 GPoints/s, 1m40s left\n" +
			"check: 150 of 1,000 iterations, 2.5 GPoints/s, 1m33s left\n"},
		{"open end", false, 0, 0, "check: 50 iterations, 2.5 GPoints/s\ncheck: 150 iterations, 2.5 GPoints/s\n"},
		{"terminal", true, 1000, 0, "\r\x1b[Kcheck: 50 of 1,000 iterations, 2.5 GPoints/s, 20s left" +
			"\r\x1b[Kcheck: 80 of 1,000 iterations, 2.5 GPoints/s, 13s left" +
			"\r\x1b[Kcheck: 150 of 1,000 iterations, 2.5 GPoints/s, 1m8s left\r\x1b[K"},
	} {
		var out strings.Builder
		clock := time.Unix(1000, 0)
		m := &meter{
			to: &out, terminal: test.terminal, now: func() time.Time { return clock },
			what: "check: ", total: test.total, from: test.from,
		}
		for _, at := range []struct {
			after time.Duration
			did   int64
		}{
			{0, 0}, {500 * time.Millisecond, 25}, {1050 * time.Millisecond, 50}, {1100 * time.Millisecond, 60},
			{1160 * time.Millisecond, 80}, {12 * time.Second, 150},
		} {
			clock = time.Unix(1000, 0).Add(at.after)
			m.show(exec.Progress{Iterations: at.did, Points: int64(2.5 * float64(at.after)), Busy: at.after})
		}
		m.clear()
		m.clear()
		if got := out.String(); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestRate(t *testing.T) {
	for _, test := range []struct {
		points float64
		want   string
	}{
		{12.4e9, "12.4 GPoints/s"}, {1e8, "0.1 GPoints/s"}, {9.99e7, "99.9 MPoints/s"},
		{1e5, "0.1 MPoints/s"}, {99999, "99,999 points/s"}, {0, "0 points/s"},
	} {
		if got := rate(test.points); got != test.want {
			t.Errorf("%g is %q, want %q", test.points, got, test.want)
		}
	}
}
