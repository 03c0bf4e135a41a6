package tuner

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/promising"
)

// hierarchicalStrategy tries only what is promising, as Rawat et al. 2019 do, whose strategy it is. Other strategies
// have the whole space.
const hierarchicalStrategy = "hierarchical"

// byClass reports whether the search leaves out what its kernels' classes say is not promising.
func (t *tuning) byClass() bool {
	name, _, _ := strings.Cut(t.strategyName(), ":")
	return name == hierarchicalStrategy
}

// classOf returns what binds a call in theory, on a machine of which is known how fast it is.
func (t *tuning) classOf(call *tunedCall) promising.Class {
	m := machine.Described(t.about.Target.Machine)
	if m == nil || m.Memory.Bandwidth == 0 || m.Peak.F64 == 0 || m.Peak.F32 == 0 {
		return promising.Unknown
	}
	facts := analysis.Analyze(t.subject.bound.Program, t.subject.bound)
	facts.On(m)
	return promising.InTheory(facts.Call(call.ir))
}

// keepPromising leaves of a kernel's space what is promising, if the search goes by classes.
func (t *tuning) keepPromising(call *tunedCall, name string, s schedule.Space) schedule.Space {
	if !t.byClass() || t.about.Target.Kind() != lower.GPU {
		return s
	}
	class := t.classOf(call)
	less := promising.For(class).Keep(s, t.subject.bound.Program.Axes)
	if n, all := less.Count(), s.Count(); n.Cmp(all) < 0 {
		t.note("%s is %s in theory: %v of its %v configurations are promising", name, class, n, all)
	}
	return less
}

// notDeeper says why deeper kernels than those that were tried are not promising; "" if they are, or if the search does
// not go by classes. Before the first depth, the calls tell.
func (l *loopSearch) notDeeper() string {
	if !l.byClass() || l.named != nil || l.loop.once() {
		return ""
	}
	if len(l.spans) == 0 {
		for _, call := range l.loop.calls {
			if class := l.classOf(call); promising.For(class).Deeper {
				return ""
			}
		}
		class := l.classOf(l.loop.calls[0])
		return fmt.Sprintf("its calls are %s in theory: several iterations in a kernel are not promising", class)
	}
	last := l.spans[len(l.spans)-1]
	if last.best == nil {
		return ""
	}
	d := l.depthResult(last)
	class := promising.OfModel(d.Bottleneck)
	if promising.For(class).Deeper {
		return ""
	}
	return fmt.Sprintf("%d iterations in a kernel are %s (%s): deeper ones are not promising", d.Depth, class,
		d.Bottleneck)
}
