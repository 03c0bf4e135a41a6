package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// A sequence names memory in the place of grids, and steps by their values.
func TestSequence(t *testing.T) {
	grid := func(i int) Arg { return Arg{Kind: GridArg, Index: i} }
	step := Arg{Kind: StepArg}
	loop := Op{Kind: IterateOp, Body: []Op{{Kind: RunOp, Call: 0}, {Kind: RotateOp, Grids: []int{1, 0}}}}
	s := &Script{
		Grids: make([]Array, 3), // u, next and a spare
		Calls: []Call{
			{Launches: []Launch{{Kernel: 0, Args: []Arg{grid(1), grid(0), step}}}}, // next, u
			{Launches: []Launch{{Kernel: 1, Args: []Arg{grid(2), grid(0), step}}}}, // the spare, u
			{Launches: []Launch{{Kernel: 2, Args: []Arg{grid(2), grid(1)}}}},       // prepares the spare
			{Launches: []Launch{{Kernel: 3, Args: []Arg{grid(2), grid(0), step, {Kind: RoundsArg}}}}},
		},
		Body: []Op{loop},
	}
	span := &Span{Depth: 2, After: 1, Call: 1, Prepare: 2, Exchanges: [][2]int{{0, 2}}, Spares: []int{2}}
	odd := &Span{Depth: 3, Repeats: true, Call: 3, Prepare: -1, Exchanges: [][2]int{{1, 2}}, Spares: []int{2}}
	text := func(q *Sequence) string {
		var parts []string
		for _, l := range q.Launches {
			var args []string
			for _, a := range l.Args {
				if a.Kind == ValueArg {
					args = append(args, fmt.Sprint("value ", device.Decode(types.I32, a.Bits[:]).I))
					continue
				}
				args = append(args, fmt.Sprint(a.Index))
			}
			parts = append(parts, fmt.Sprintf("%d(%s)", l.Kernel, strings.Join(args, ", ")))
		}
		return fmt.Sprint(strings.Join(parts, " "), " ", q.Holds)
	}
	for _, c := range []struct {
		build func(q *Sequence)
		want  string
	}{
		{func(q *Sequence) { q.Iterations(&loop, 3) }, "0(1, 0, value 0) 0(0, 1, value 1) 0(1, 0, value 2) [1 0 2]"},
		{func(q *Sequence) { q.Span(&loop, span, 1); q.Span(&loop, span, 1); q.Iterations(&loop, 1) },
			"2(2, 1) 1(2, 0, value 0) 1(0, 2, value 2) 0(1, 0, value 4) [1 0 2]"},
		{func(q *Sequence) { q.Span(&loop, span, 1); q.Iterations(&loop, 1); q.Span(&loop, span, 1) },
			"2(2, 1) 1(2, 0, value 0) 0(1, 2, value 2) 2(0, 2) 1(0, 1, value 3) [0 2 1]"},
		{func(q *Sequence) { q.Span(&loop, odd, 3); q.Span(&loop, odd, 2) },
			"3(2, 0, value 0, value 3) 3(0, 1, value 9, value 2) [1 0 2]"},
	} {
		q := s.NewSequence()
		c.build(q)
		if got := text(q); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	if s.Calls[0].Launches[0].Args[2] != step {
		t.Error("the script has changed")
	}
}

// The op of an iterate is found where the program has it.
func TestScriptIterate(t *testing.T) {
	inner, other := &ir.Iterate{}, &ir.Iterate{}
	p := &ir.Program{Body: []ir.Op{&ir.Run{}, &ir.Iterate{Body: []ir.Op{other, inner}}}}
	s := &Script{Body: []Op{{}, {Kind: IterateOp, Body: []Op{{Kind: IterateOp}, {Kind: IterateOp, Max: 7}}}}}
	if o := s.Iterate(p, inner); o == nil || o.Max != 7 {
		t.Errorf("%+v", o)
	}
	if o := s.Iterate(p, &ir.Iterate{}); o != nil {
		t.Errorf("%+v", o)
	}
}
