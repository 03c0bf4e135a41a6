package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// meter shows how far a run is: on a terminal one line that is rewritten, else
// a line every ten seconds.
type meter struct {
	app   *app
	quiet bool
	total int64 // outermost iterations; 0 if not known
	from  int64 // iterations that were there at the start
	start time.Time
	shown time.Time
	live  bool // the terminal's line holds something
}

func newMeter(a *app, b *ir.Binding, quiet bool) *meter {
	return &meter{app: a, quiet: quiet, total: iterations(b), start: time.Now()}
}

// iterations returns the iterations of a program's outermost iterates, or 0 if
// a condition decides.
func iterations(b *ir.Binding) int64 {
	total := int64(0)
	for _, o := range b.Program.Body {
		it, ok := o.(*ir.Iterate)
		if !ok {
			continue
		}
		if it.Count == nil || readsReduced(it.Count) {
			return 0
		}
		total += max(0, b.Eval(it.Count, 0).I)
	}
	return total
}

func readsReduced(e ir.Expr) bool {
	found := false
	ir.Walk(e, func(e ir.Expr) {
		if s, ok := e.(ir.ScalarRef); ok && s.Scalar.Reduced {
			found = true
		}
	})
	return found
}

// show is called now and then during a run.
func (m *meter) show(p exec.Progress) {
	if m.quiet {
		return
	}
	now := time.Now()
	terminal := m.app.terminal()
	wait := 10 * time.Second
	if terminal {
		wait = 100 * time.Millisecond
	}
	if now.Sub(m.start) < time.Second || now.Sub(m.shown) < wait {
		return
	}
	m.shown = now
	text := fmt.Sprintf("%d iterations", p.Iterations)
	if m.total > 0 {
		text = fmt.Sprintf("%d of %d iterations", p.Iterations, m.total)
	}
	if s := now.Sub(m.start).Seconds(); s > 0 {
		text += fmt.Sprintf(", %.3g GPoints/s", float64(p.Points)/s/1e9)
		if did := p.Iterations - m.from; did > 0 && m.total > p.Iterations {
			left := time.Duration(s * float64(m.total-p.Iterations) / float64(did) * float64(time.Second))
			text += fmt.Sprintf(", %s left", left.Round(time.Second))
		}
	}
	if terminal {
		fmt.Fprintf(m.app.stderr, "\r\x1b[K%s", text)
		m.live = true
		return
	}
	fmt.Fprintln(m.app.stderr, text)
}

// clear takes the line away, so that other words can be printed.
func (m *meter) clear() {
	if m.live {
		fmt.Fprint(m.app.stderr, "\r\x1b[K")
		m.live = false
	}
}

// terminal reports whether stderr is one.
func (a *app) terminal() bool {
	f, ok := a.stderr.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
