package sim

import (
	"fmt"
	"strings"
)

// stuck reports why warps wait for ever. Where all that wait, wait at barriers
// of all threads, not all threads have come to one; else who waits for what is
// told.
func (m *execution) stuck(groups []*group) {
	var waiting, ended []*warp
	plain := true
	for _, g := range groups {
		for _, w := range g.warps {
			switch w.state {
			case done:
				ended = append(ended, w)
			case atGate, atMbarrier, atFlag:
				plain = false
				waiting = append(waiting, w)
			default:
				waiting = append(waiting, w)
			}
		}
	}
	m.stopped = true
	first := waiting[0]
	in := &m.p.code[first.pc-1]
	if plain {
		first.fault(Divergence, in, 0, "%s", m.missed(first, waiting, ended))
		return
	}
	var lines []string
	for i := 0; i < len(waiting); {
		text, n := m.waitsFor(waiting[i]), 1
		for i+n < len(waiting) && m.waitsFor(waiting[i+n]) == text {
			n++
		}
		line := waiting[i].name(0)
		if n > 1 {
			line += fmt.Sprintf(", the first of %d warps,", n)
		}
		lines = append(lines, line+" "+text)
		i += n
	}
	if n := len(ended); n > 0 {
		lines = append(lines, fmt.Sprintf("warps that have ended: %d", n))
	}
	first.fault(Deadlock, in, 0, "threads wait for ever: %s", strings.Join(lines, "; "))
}

// missed says who does not come to a barrier of all threads.
func (m *execution) missed(first *warp, waiting, ended []*warp) string {
	if len(ended) > 0 {
		return fmt.Sprintf("not all threads come to this barrier: %s has ended", ended[0].name(0))
	}
	for _, w := range waiting {
		if w.state != first.state || w.pc != first.pc {
			return fmt.Sprintf("not all threads come to this barrier: %s waits at %s",
				w.name(0), m.p.places[m.p.code[w.pc-1].at].path)
		}
	}
	return "threads wait here for ever"
}

// waitsFor says what a warp waits for.
func (m *execution) waitsFor(w *warp) string {
	in := &m.p.code[w.pc-1]
	path := m.p.places[in.at].path
	switch w.state {
	case atGate:
		g := &w.block.gates[in.sub]
		return fmt.Sprintf("waits at %s for %d threads at barrier %d, of which %d are there",
			path, g.threads, in.sub, len(g.warps)*lanes)
	case atMbarrier:
		l := w.kept()
		index := w.i[in.b][l]
		bar := &w.block.mbarriers[in.a][index]
		return fmt.Sprintf("waits at %s for the end of phase %d of %s[%d]: %s",
			path, bar.phase, m.p.slots[in.a].buffer.Name, index, bar.lacks())
	}
	if w.state == atFlag {
		l := w.unflagged()
		index := w.i[in.b][l]
		return fmt.Sprintf("waits at %s until %s[%d] is %d: it is %d", path, m.p.slots[in.a].buffer.Name, index,
			w.i[in.c][l], m.flags[in.a][index].value)
	}
	return "waits at " + path
}

// kept returns the first lane whose phase has not ended.
func (w *warp) kept() int {
	in := w.waits
	for l := range lanes {
		if w.mask>>l&1 != 0 && int64(w.block.mbarriers[in.a][w.i[in.b][l]].phase&1) == w.i[in.c][l]&1 {
			return l
		}
	}
	return 0
}

// lacks says what has to come before the phase ends.
func (bar *mbarrier) lacks() string {
	s := fmt.Sprintf("%d of %d arrivals are missing", bar.missing, bar.count)
	switch {
	case bar.bytes > 0:
		s += fmt.Sprintf(" and %d bytes that were announced", bar.bytes)
	case bar.bytes < 0:
		s += fmt.Sprintf(", and %d bytes came that were not announced", -bar.bytes)
	}
	return s
}
