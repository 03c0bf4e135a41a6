package lower

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// Form is what a pass takes or makes.
type Form string

// The forms between a program and its printed kernels.
const (
	CallForm       Form = "call"       // of the program
	StatementsForm Form = "statements" // that share a kernel
	LoopForm       Form = "loop"       // calls and rotations, in parts
	SpanForm       Form = "span"       // iterations of a loop, as a graph
	PipelineForm   Form = "pipeline"   // a span as stages
	KernelForm     Form = "kernel"
)

// Pass is a step from a program to its kernels.
type Pass struct {
	Name    string
	Doc     string
	In, Out Form
	For     string // which calls, groups or kernels it is for
}

// groupPass is a pass on a group of statements on its way to a kernel.
type groupPass struct {
	Pass
	run   func(n *nest) (ran bool, err error)
	text  func(n *nest) string
	check func(n *nest) error // the guard
}

var (
	inlinePass = Pass{
		"inline", "compute local grids where they are read", CallForm, CallForm,
		"calls whose local grids the plan fuses",
	}
	groupsPass = Pass{
		"group", "choose the statements that share a kernel", CallForm, StatementsForm,
		"all calls",
	}
	arrangePass = Pass{
		"arrange", "put the parts of an iteration into an order in which each finds what it reads", LoopForm, LoopForm,
		"loops and sequences whose plan names sets of calls",
	}
	spanPass = Pass{
		"span", "follow the values of several iterations", CallForm, SpanForm, "loops whose plan has a depth",
	}
	pipelinePass = Pass{
		"pipeline", "find how far beyond a tile each stage is computed, and what stays on the chip", SpanForm,
		PipelineForm, "loops whose plan has a depth",
	}
)

// groupPasses are the passes on each group of statements; Passes has those before
// and after them, too.
var groupPasses []groupPass

func init() { // their functions lead back here
	groupPasses = []groupPass{
		{
			Pass{"fold", "add terms of one coefficient before they are multiplied", StatementsForm, StatementsForm,
				"groups whose plan folds sums"},
			(*nest).fold, (*nest).statementsText, (*nest).checkStatements,
		},
		{
			Pass{"build", "arrange loops, threads and memory as the kernel's family does", StatementsForm, KernelForm,
				"all groups"},
			(*nest).arrange,
			func(n *nest) string { return kernel.Text(n.kernel) },
			func(n *nest) error { return kernel.Check(n.kernel) },
		},
	}
}

// Passes lists all passes from a program to its kernels, in the order in which they
// run. There are no others.
func Passes() []Pass {
	list := []Pass{inlinePass, groupsPass, arrangePass, spanPass, pipelinePass}
	for _, p := range groupPasses {
		list = append(list, p.Pass)
	}
	for _, p := range kernel.Passes {
		list = append(list, kernelPass(&p))
	}
	return list
}

func kernelPass(p *kernel.Pass) Pass {
	return Pass{p.Name, p.Doc, KernelForm, KernelForm, p.When.String()}
}

// Step is what became of something in a pass.
type Step struct {
	Pass string
	Of   string // the call, the kernel of a plan, or the kernel
	For  string // which calls, groups or kernels the pass is for
	Ran  bool   // it is for this one
	Text string // after the pass
}

// String returns the step as it is shown: a line that says what it is, and the text.
func (s Step) String() string {
	if !s.Ran {
		return fmt.Sprintf("; %s does not run for %s: it is for %s\n", s.Pass, s.Of, s.For)
	}
	return fmt.Sprintf("; after %s of %s\n%s\n", s.Pass, s.Of, strings.TrimRight(s.Text, "\n"))
}

// Trace lowers a program and returns what some passes made, in the order in which
// they ran, also of a program that cannot be lowered. The guard runs after each pass.
// Names are those of passes, or "all" for those that run.
func Trace(p *ir.Program, o Options, names ...string) (*kernel.Module, []Step, error) {
	all := Passes()
	known := func(name string) bool { return slices.ContainsFunc(all, func(p Pass) bool { return p.Name == name }) }
	for _, name := range names {
		if name != "all" && !known(name) {
			return nil, nil, unknownPass(name, all)
		}
	}
	o.Guard = true
	o.watched = func(pass string, ran bool) bool {
		return slices.Contains(names, pass) || ran && slices.Contains(names, "all")
	}
	m, err := build(p, o)
	switch {
	case m == nil:
		return nil, nil, err
	case err != nil:
		return nil, m.steps, err
	}
	return m.Module, m.steps, nil
}

// UnknownPass is the error for a name that no pass has.
type UnknownPass struct{ text string }

// Error lists the names that there are.
func (e *UnknownPass) Error() string { return e.text }

func unknownPass(name string, all []Pass) error {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	text := fmt.Sprintf("no pass is called %s", name)
	if near := diag.Nearest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %s? Others", near)
	} else {
		text += "; they"
	}
	return &UnknownPass{text + " are " + strings.Join(names, ", ") + ", and all"}
}

// after is called after every pass. It runs the guard if that is asked for, and
// keeps the text of what is watched.
func (m *module) after(p Pass, of string, ran bool, text func() string, check func() error) error {
	if ran && m.opts.Guard {
		if err := check(); err != nil {
			return fmt.Errorf("after the pass %s, %s is not well formed: %w", p.Name, of, err)
		}
	}
	if m.opts.watched != nil && m.opts.watched(p.Name, ran) {
		m.steps = append(m.steps, Step{p.Name, of, p.For, ran, text()})
	}
	return nil
}

// grouped runs when a call has become groups of statements.
func (m *module) grouped(source *ir.Call, f *fusionVariant) error {
	inlined := f.call != source
	err := m.after(inlinePass, source.Name, inlined,
		func() string { return m.callText(f.call) }, func() error { return m.verify(source, f.call) })
	if err != nil {
		return err
	}
	text := func() string {
		var b strings.Builder
		for i, g := range f.fusion.Groups {
			fmt.Fprintf(&b, "%s[%d:%d]\n", source.Name, f.from(i), f.ends[i])
			for _, s := range g.Stmts {
				b.WriteString(indented(m.Program.StmtText(s)))
			}
		}
		return b.String()
	}
	whole := func() error {
		var list []*ir.Stmt
		for _, g := range f.fusion.Groups {
			list = append(list, g.Stmts...)
		}
		if !slices.Equal(list, f.call.Body) {
			return errors.New("the groups have not all its statements in order")
		}
		return nil
	}
	return m.after(groupsPass, source.Name, true, text, whole)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// callText lists a call's statements.
func (m *module) callText(s *ir.Call) string {
	var b strings.Builder
	for _, st := range s.Body {
		b.WriteString(strings.TrimRight(m.Program.StmtText(st), "\n") + "\n")
	}
	return b.String()
}

// verify checks the program with another call in the place of one.
func (m *module) verify(source, call *ir.Call) error {
	if source == m.Program.Initial {
		return nil // nothing changes it
	}
	p, err := transform.Program(m.Program, func(s *ir.Call) (*ir.Call, error) {
		if s == source {
			return call, nil
		}
		return s, nil
	})
	if err != nil {
		return err
	}
	return ir.Verify(p)
}

// source returns the call of the program that a call stands for.
func (m *module) source(s *ir.Call) *ir.Call {
	if source, ok := m.sources[s]; ok {
		return source
	}
	return s
}

// statementsText lists the group's statements.
func (n *nest) statementsText() string {
	var b strings.Builder
	for _, s := range n.stmts {
		b.WriteString(strings.TrimRight(n.Program.StmtText(s.src), "\n") + "\n")
	}
	return b.String()
}

// checkStatements checks the call with the group's statements as they are now.
func (n *nest) checkStatements() error {
	call := *n.call
	call.Body = slices.Clone(call.Body)
	for i, st := range call.Body {
		for _, s := range n.stmts {
			if s.written == st {
				call.Body[i] = s.src
			}
		}
	}
	return n.verify(n.source(n.call), &call)
}

// arrange builds the kernel with the family that the configuration names.
func (n *nest) arrange() (bool, error) {
	k := &kernel.Kernel{Name: n.name, Doc: n.doc(), MaxRegisters: int(n.set.Int(schedule.RegisterLimit, 0))}
	n.aim(k)
	n.bounds()
	if s := n.spanOf(n.byPipeline); s != nil {
		s.pipeline = n.asPipeline() // passes may have changed its statement
		var err error
		if k.Body, err = familyNamed(n.config.Family).span(s); err != nil {
			return true, err
		}
	} else {
		k.Body, n.finals = familyNamed(n.config.Family).build(n)
	}
	if n.resourceLimit != nil {
		return true, n.resourceLimit
	}
	n.args = n.finish(k)
	n.kernel = k
	return true, nil
}

// passed applies the passes on kernels.
func (n *nest) passed(k *kernel.Kernel, a kernel.Asked) (*kernel.Kernel, error) {
	if !n.opts.Guard && n.opts.watched == nil {
		return kernel.Apply(k, a, nil), nil
	}
	var errs []error
	next := kernel.Apply(k, a, func(p *kernel.Pass, k *kernel.Kernel) {
		text, check := func() string { return kernel.Text(k) }, func() error { return kernel.Check(k) }
		err := n.after(kernelPass(p), k.Name, p.For(a), text, check)
		errs = append(errs, err)
	})
	return next, errors.Join(errs...)
}
