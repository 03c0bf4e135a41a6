package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// tuneMeter shows what a search does: on a terminal one line that is
// rewritten, else a line every ten seconds and one for whatever is important.
type tuneMeter struct {
	to       io.Writer
	lines    *json.Encoder // for --json
	terminal bool
	shown    time.Time
	live     bool // the terminal's line holds something
	wrongs   int
	failed   error
	stopped  <-chan struct{} // closed by an interrupt
	wait     func()          // lets what follows take its time
}

func newTuneMeter(a *app, c *tuneCmd) *tuneMeter {
	m := &tuneMeter{to: a.cursor, terminal: a.terminal(), shown: time.Now()}
	if c.Quiet {
		m.to, m.terminal = io.Discard, false
	}
	if c.JSON {
		m.lines = json.NewEncoder(a.json)
		m.lines.SetEscapeHTML(false)
	}
	return m
}

func (m *tuneMeter) event(e tuner.Event) {
	if m.lines != nil {
		if err := m.lines.Encode(e); err != nil && m.failed == nil {
			m.failed = err
		}
	}
	switch e.Kind {
	case tuner.EventStart, tuner.EventCheck:
		m.say("%s", e.Text)
	case tuner.EventKernel:
		m.say("%s: %s configurations, %.0f %% of the time", e.Kernel, e.Space, 100*e.Share)
	case tuner.EventAdvice:
		m.say("%s", profiledText(e.Advice))
	case tuner.EventDepth:
		m.depth(e.Depth)
	case tuner.EventFinal:
		m.heard()
		m.say("side by side: %s", e.Text)
	case tuner.EventNote:
		m.say("note: %s", e.Text)
	case tuner.EventCondemned:
		if e.Text != "" {
			m.say("WRONG: %s", e.Text)
		}
		m.status(e.Status)
	case tuner.EventTrial:
		m.wrong(e.Trial)
		m.status(e.Status)
	case tuner.EventWait:
		m.line(e.Text)
	}
}

// depth tells what came of a number of iterations in a kernel.
func (m *tuneMeter) depth(d *tuner.DepthResult) {
	switch {
	case d.Kernel == "":
	case d.Trials == 0:
		m.say("%s: nothing was tried", d.Kernel)
	case d.Seconds == 0:
		m.say("%s: none of %s works", d.Kernel, count(d.Trials, "configuration"))
	default:
		m.say("%s: %.4g GStencil/s, %.3f times depth 1", d.Kernel, d.GStencils, d.Gain)
	}
}

// profiledText says what the profile of a kernel within the search has come to.
func profiledText(a *tuner.Advice) string {
	if a.Profile == nil {
		return a.Kernel + ": there is no profile: " + a.Failed
	}
	var codes []string
	for _, h := range a.Profile.Hints {
		if h.Change.Plan != "" && h.Forbidden == "" {
			codes = append(codes, h.Code)
		}
	}
	text := fmt.Sprintf("%s is %s, as profiled", a.Kernel, a.Profile.Class)
	if len(codes) == 0 {
		return text
	}
	return text + ": following " + strings.Join(codes, ", ")
}

// heard tells a user who has interrupted the search why it still goes on.
func (m *tuneMeter) heard() {
	m.wait()
	select {
	case <-m.stopped:
		m.say("interrupted: the best so far are timed once more; another Ctrl-C ends at once")
	default:
	}
}

// mostWrong are the configurations with wrong results that are named; all are
// counted.
const mostWrong = 3

// wrong tells of wrong results, which nobody should have to look for. Those of
// code with spilled registers are left to the summary, which counts them:
// compilers make such code wrong at times, and no plan of the user's has it.
func (m *tuneMeter) wrong(o *tuner.Outcome) {
	if o.Verdict != verdict.Wrong || o.Spills > 0 {
		return
	}
	if m.wrongs++; m.wrongs <= mostWrong {
		m.say("WRONG: %s computes wrong numbers: %s", o.Config, o.Message)
	}
	if m.wrongs == mostWrong {
		m.say("WRONG: others are counted from here on")
	}
}

// say prints a line that stays.
func (m *tuneMeter) say(format string, args ...any) {
	m.clear()
	fmt.Fprintln(m.to, diag.Visible(indented(fmt.Sprintf(format, args...))))
}

// status shows how far the search is, now and then.
func (m *tuneMeter) status(s *tuner.Status) { m.line(statusText(s)) }

// line shows a line that the next one takes the place of, now and then.
func (m *tuneMeter) line(text string) {
	wait := 10 * time.Second
	if m.terminal {
		wait = 100 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(m.shown) < wait {
		return
	}
	m.shown = now
	text = diag.Line(text)
	if m.terminal {
		fmt.Fprintf(m.to, "\r\x1b[K%s", text)
		m.live = true
		return
	}
	fmt.Fprintln(m.to, text)
}

// statusText is "40 configurations, 3.1 a second, best 1.23 GStencil/s, refused: 3 compiler, 8 s left".
func statusText(s *tuner.Status) string {
	text := fmt.Sprintf("%s, %.1f a second", count(s.Trials, "configuration"), s.Rate)
	if s.Best > 0 {
		text += fmt.Sprintf(", best %.4g GStencil/s", s.GStencils)
	}
	var refused []string
	for _, reason := range slices.Sorted(maps.Keys(s.Refused)) {
		refused = append(refused, fmt.Sprintf("%d %s", s.Refused[reason], reason))
	}
	if len(refused) > 0 {
		text += ", refused: " + strings.Join(refused, ", ")
	}
	if s.Left > 0 {
		text += fmt.Sprintf(", %.0f s left", s.Left)
	}
	return text
}

// clear takes the line away, so that other words can be printed.
func (m *tuneMeter) clear() {
	if m.live {
		fmt.Fprint(m.to, "\r\x1b[K")
		m.live = false
	}
}
