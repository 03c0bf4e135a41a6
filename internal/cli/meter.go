package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

// meter shows how far a run is: on a terminal one line that is rewritten, else
// a line every ten seconds. What takes less than a second is not talked about.
type meter struct {
	to       io.Writer
	terminal bool
	now      func() time.Time
	what     string    // that is measured, with ": "; "" for the run
	total    int64     // outermost iterations; 0 if not known
	from     int64     // iterations that were there at the start
	start    time.Time // when it was first asked to show something
	shown    time.Time
	live     bool // the terminal's line holds something
}

// newMeter returns a meter that shows nothing if the user wants quiet.
func newMeter(a *app, total int64, quiet bool) *meter {
	if quiet {
		return &meter{to: io.Discard, now: time.Now}
	}
	return &meter{to: a.cursor, terminal: a.terminal(), now: time.Now, total: total}
}

// show is called now and then during a run.
func (m *meter) show(p exec.Progress) {
	now := m.now()
	if m.start.IsZero() {
		m.start = now
	}
	wait := 10 * time.Second
	if m.terminal {
		wait = 100 * time.Millisecond
	}
	if now.Sub(m.start) < time.Second || now.Sub(m.shown) < wait {
		return
	}
	m.shown = now
	text := m.what + count(p.Iterations, "iteration")
	if m.total > 0 {
		text = fmt.Sprintf("%s%s of %s", m.what, quantity.Whole(p.Iterations), count(m.total, "iteration"))
	}
	if s := p.Busy.Seconds(); s > 0 {
		text += ", " + rate(float64(p.Points)/s)
		if did := p.Iterations - m.from; did > 0 && m.total > p.Iterations {
			left := time.Duration(s * float64(m.total-p.Iterations) / float64(did) * float64(time.Second))
			text += fmt.Sprintf(", %s left", left.Round(time.Second))
		}
	}
	m.text(text)
}

// text shows what is being done: on a terminal in the line that is rewritten, else in a line of its own.
func (m *meter) text(text string) {
	text = diag.Line(text)
	if m.terminal {
		fmt.Fprintf(m.to, "\r\x1b[K%s", text)
		m.live = true
		return
	}
	fmt.Fprintln(m.to, text)
}

// clear takes the line away, so that other words can be printed.
func (m *meter) clear() {
	if m.live {
		fmt.Fprint(m.to, "\r\x1b[K")
		m.live = false
	}
}

// rate prints points a second.
func rate(points float64) string {
	switch {
	case points >= 1e8:
		return fmt.Sprintf("%.3g GPoints/s", points/1e9)
	case points >= 1e5:
		return fmt.Sprintf("%.3g MPoints/s", points/1e6)
	}
	return quantity.Whole(int64(points+0.5)) + " points/s"
}
