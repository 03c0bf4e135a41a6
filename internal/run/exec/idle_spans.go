package exec

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// IdleSpan is a span that is never carried out at the sizes of a binding: iterations are carried out one by one, or by
// other spans.
type IdleSpan struct {
	*kernel.Span
	// Short is an axis that has fewer cells than the span's kernel needs; nil if that is not why.
	Short *kernel.Side
	// Room is how many iterations there are at a time, of which the span takes Depth and After.
	Room int64
	// Paused says that there are no more because of pauses.
	Paused bool
}

// IdleSpans returns the spans of a module that are never carried out for a binding of its program, if a run pauses
// after so many iterations of outermost iterates, or more often; 0 is never.
func IdleSpans(m *kernel.Module, b *ir.Binding, pause int64) ([]IdleSpan, error) {
	if len(m.Spans) == 0 {
		return nil, nil
	}
	d := newDeriver(m, b)
	if _, err := d.ops(m.Program.Body); err != nil {
		return nil, err
	}
	list := d.idle
	for _, o := range m.Program.Body {
		it, ok := o.(*ir.Iterate)
		if !ok || pause == 0 {
			continue
		}
		for _, s := range m.Spans {
			if s.Iterate == it && s.Depth+s.After > pause && !idles(d.idle, s) {
				list = append(list, IdleSpan{Span: s, Room: pause, Paused: true})
			}
		}
	}
	return list, nil
}

func idles(list []IdleSpan, s *kernel.Span) bool {
	for _, x := range list {
		if x.Span == s {
			return true
		}
	}
	return false
}
