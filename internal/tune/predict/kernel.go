package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Kernel is a kernel of a program at its sizes on a machine: what is predicted for.
type Kernel struct {
	Name  string // its program's, and its own where there are several
	ID    string // within the program: "heat[0:1]"
	Bound *ir.Binding
	Call  *ir.Call
	Space schedule.Space

	Own    schedule.Kernel // as plans have it
	Usual  schedule.Config // that it has where nothing is known of it
	Target *target.Target

	alone bool // the only kernel of its call
}

// Types are the types of the elements of the kernel's grids, each once: "float", or "double float".
func (k *Kernel) Types() string {
	var list []string
	for _, a := range k.Call.Arrays {
		if t := a.Type.String(); !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Sizes are the values of the program's parameters: "nz=512 ny=512 nx=512".
func (k *Kernel) Sizes() string {
	var list []string
	for i, p := range k.Bound.Program.Params {
		list = append(list, fmt.Sprintf("%s=%d", p.Name, k.Bound.Params[i]))
	}
	return strings.Join(list, " ")
}

// Code returns the hash of what is compiled for a configuration; false if it is not known, or nothing can be.
func (k *Kernel) Code(c schedule.Config) (session.Code, bool) {
	if !k.alone {
		return 0, false
	}
	own := k.Own
	own.Config = c
	code, err := tuner.Code(k.Bound, k.Call, k.Target, own)
	return code, err == nil
}

// describe returns the features of the kernel's program, and what describes its configurations.
func (k *Kernel) describe() ([]float64, features.Configurations) {
	return features.Describe(k.Bound, k.Call, k.Target.Machine, k.Space)
}

// Lowered returns the features of the variant that a configuration makes (features.OfLowered): those of its first
// launch.
func (k *Kernel) Lowered(c schedule.Config) ([]float64, error) {
	x, err := k.launch(c)
	if err != nil {
		return nil, err
	}
	return features.Lowered(x, k.Bound)
}

// Variant returns all features of the variant that a configuration makes: features.OfLowered and features.OfVariant.
func (k *Kernel) Variant(c schedule.Config) (row []float64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the configuration breaks the compiler: %v", r)
		}
	}()
	x, err := k.launch(c)
	if err != nil {
		return nil, err
	}
	return features.Variant(x, k.Bound, k.Call, k.Target.Machine)
}

// launch returns the first launch of the variant that a configuration makes. Other calls of the program are not
// lowered: they take as long, and a search has the kernel alone, too.
func (k *Kernel) launch(c schedule.Config) (*kernel.Launch, error) {
	only := tuner.Alone(k.Bound, k.Call)
	o := k.Target.Lowering(only, schedule.Plan{Kernels: []schedule.Kernel{k.Own.In(c)}})
	m, err := lower.Program(only.Program, o)
	if err != nil {
		return nil, err
	}
	for _, x := range m.Calls[k.Call] {
		if x.Part == k.ID {
			return x, nil
		}
	}
	return nil, fmt.Errorf("%s launches nothing", k.ID)
}

// KernelsOf returns the kernels of a program that have a choice, in the order of a plan. A plan's settings stay.
func KernelsOf(b *ir.Binding, t *target.Target, plan schedule.Plan) ([]*Kernel, error) {
	o := t.Lowering(b, plan)
	o.AnyIntegers = false
	choices, err := lower.Choices(b.Program, o)
	if err != nil {
		return nil, err
	}
	var names []string
	var spaces []schedule.Space
	for _, c := range choices {
		names, spaces = append(names, c.ID()), append(spaces, c.Space)
	}
	if spaces, _, err = lower.OfKernels(plan).Restrictions("plan").Apply(names, spaces); err != nil {
		return nil, err
	}
	for i := range choices {
		choices[i].Space = spaces[i]
	}
	var list []*Kernel
	for _, c := range choices {
		i := slices.IndexFunc(b.Program.Calls, func(s *ir.Call) bool { return s.Name == c.Call })
		if i < 0 || c.Depth > 1 {
			continue
		}
		k := &Kernel{
			Name: b.Program.Name, ID: c.ID(), Bound: b, Call: b.Program.Calls[i], Space: c.Space,
			Own: c.Kernel, Usual: c.Config, Target: t,
		}
		if t.Kind() == lower.CPU { // as a search does
			k.Space = tuner.ForCPU(b, k.Call, processorsOf(t), k.Space)
		}
		list = append(list, k)
	}
	for _, k := range list {
		if len(list) > 1 {
			k.Name += " " + k.ID
		}
		k.alone = plan.String() == "" // what else a plan says is not in a configuration
		for _, c := range choices {
			k.alone = k.alone && (c.ID() == k.ID || c.Call != k.Call.Name)
		}
	}
	return list, nil
}

// processorsOf is how many threads of a target with processors run at once: of a machine on paper what its description
// says, and what this one has where nothing does.
func processorsOf(t *target.Target) int {
	return cmp.Or(t.Units, t.Machine.Threads(), runtime.GOMAXPROCS(0))
}

// Recorded is a kernel with the trials of its configurations.
type Recorded struct {
	*Kernel
	Device     string // that was measured on, with its threads if it is a processor
	API        string // of the device
	DeviceName string
	Trials     []Trial
	Best       float64 // seconds of the fastest

	known map[string]int // the index of a configuration's trial
}

// Trial is a configuration that was tried.
type Trial struct {
	Config  schedule.Config
	Seconds float64 // 0 if it could not run
	Code    session.Code
	// Resources are what the compiler made of it, where it was compiled for a GPU.
	Resources session.Resources
	// Compile is how many seconds compiling it took; 0 if that is not known, or something else had the same code.
	Compile float64
}

// add adds a trial. Of a configuration that was tried in several sessions the fastest counts: what disturbs a
// measurement makes it slower.
func (r *Recorded) add(t Trial) {
	if t.Seconds > 0 && (r.Best == 0 || t.Seconds < r.Best) {
		r.Best = t.Seconds
	}
	text := t.Config.String()
	i, ok := r.known[text]
	switch {
	case !ok:
		r.known[text], r.Trials = len(r.Trials), append(r.Trials, t)
	case t.Seconds > 0 && (r.Trials[i].Seconds == 0 || t.Seconds < r.Trials[i].Seconds):
		t.Compile = cmp.Or(t.Compile, r.Trials[i].Compile)
		r.Trials[i] = t
	default:
		r.Trials[i].Compile = cmp.Or(r.Trials[i].Compile, t.Compile)
	}
}

// Fastest returns the configurations of the n fastest trials.
func (r *Recorded) Fastest(n int) []schedule.Config {
	ran := slices.DeleteFunc(slices.Clone(r.Trials), func(t Trial) bool { return t.Seconds == 0 })
	slices.SortStableFunc(ran, func(a, b Trial) int { return cmp.Compare(a.Seconds, b.Seconds) })
	var list []schedule.Config
	for _, t := range ran[:min(n, len(ran))] {
		list = append(list, t.Config)
	}
	return list
}

// Alone reports whether the kernel is the only one of its program.
func (k *Kernel) Alone() bool { return k.alone && len(k.Bound.Program.Calls) == 1 }

// Fraction is what a trial has of the fastest speed; 0 if it could not run.
func (r *Recorded) Fraction(t *Trial) float64 {
	if t.Seconds == 0 {
		return 0
	}
	return r.Best / t.Seconds
}

// Unread is a session whose trials teach nothing, and why.
type Unread struct {
	Session string
	Program string
	Err     error
}

// Found is what a store has to learn from, and what is left out of it.
type Found struct {
	Kernels []*Recorded
	Unread  []Unread
	Others  int // sessions of other versions
	Gone    int // trials of configurations that the spaces of their kernels do not have any more
}

// Read returns the kernels that a store has measured, by devices and names; all sessions of a program at its sizes on a
// device make one. Sessions of other versions are left out, and counted; those whose program cannot be read any more
// are told.
func Read(ctx context.Context, s store.Store, f store.Filter) (*Found, error) {
	found := &Found{}
	f.Versions = store.OtherVersions
	for _, err := range s.Sessions(ctx, f) {
		if err != nil {
			return nil, err
		}
		found.Others++
	}
	f.Versions = store.CurrentVersions
	var list []*Recorded
	known := map[string]map[string]*Recorded{} // by session and kernel
	programs := map[string]map[string]*Recorded{}
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return nil, err
		}
		if r.Kernel == "" || r.Transient() || r.Verdict == verdict.Wrong {
			continue // a whole program; a full disk; a fault of the compiler
		}
		kernels, ok := known[r.Session.ID]
		if !ok {
			of := programOf(r.Session)
			if kernels = programs[of]; kernels == nil {
				kernels, err = recorded(r.Session)
				if err != nil {
					found.Unread = append(found.Unread, Unread{r.Session.ID, r.Session.Program.Name, err})
				}
				programs[of] = kernels
			}
			known[r.Session.ID] = kernels
		}
		k := kernels[r.Kernel]
		if k == nil {
			continue
		}
		c, err := schedule.ParseConfig(r.Config)
		if err != nil || k.Space.Check(c) != nil {
			found.Gone++
			continue
		}
		if len(k.Trials) == 0 {
			list = append(list, k)
		}
		t := Trial{Config: c, Code: r.Code, Resources: r.Resources, Compile: r.Compile.Seconds()}
		if r.Verdict == verdict.OK && !math.IsNaN(r.Median) && r.Median > 0 {
			t.Seconds = r.Median
		}
		k.add(t)
	}
	list = slices.DeleteFunc(list, func(k *Recorded) bool { return k.Best == 0 })
	slices.SortStableFunc(list, func(a, b *Recorded) int {
		return strings.Compare(a.Device+"\x00"+a.Name, b.Device+"\x00"+b.Name)
	})
	found.Kernels = list
	return found, nil
}

// programOf tells what sessions have in common that make one kernel: the device, the program, its sizes and arithmetic.
func programOf(s *session.Session) string {
	return fmt.Sprintf("%q %q %q %q %q %v %q", s.Device.API, s.Device.String(), s.Program.Name, s.FP, s.Space.Plan,
		s.Sizes, s.Program.IR)
}

// recorded returns the kernels of a session's program by what trials call them.
func recorded(s *session.Session) (map[string]*Recorded, error) {
	if s.Program.IR == "" {
		return nil, fmt.Errorf("the program's text is not in the store")
	}
	mode, err := arith.Parse(s.FP)
	if err != nil {
		return nil, err
	}
	p, err := ir.ParseText(s.Program.IR)
	if err != nil {
		return nil, err
	}
	p.Name = s.Program.Name
	set := map[string]string{}
	for _, z := range s.Sizes {
		set[z.Name] = fmt.Sprint(z.Value)
	}
	b, list := p.In(mode).Bind(set)
	if list.HasErrors() {
		return nil, fmt.Errorf("its sizes do not fit: %s", list[0].Message)
	}
	m := s.Device.Properties.Machine
	dialect := dialects[s.Device.API]
	if dialect == nil || m == nil && s.Device.API != session.CPU {
		return nil, fmt.Errorf("nothing is known of the device %s", s.Device.Name)
	}
	out := map[string]*Recorded{}
	for _, text := range []string{s.Space.Plan, "local=fused"} { // a search settles by itself whether local grids are
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			return nil, err
		}
		on := target.OnPaper(dialect, m, mode)
		on.Units = s.Device.Units
		kernels, err := KernelsOf(b, on, plan)
		if err != nil && len(out) == 0 {
			return nil, err
		}
		for _, k := range kernels {
			if out[k.ID] == nil {
				out[k.ID] = &Recorded{
					Kernel: k, Device: s.Device.String(), API: s.Device.API, DeviceName: s.Device.Name,
					known: map[string]int{},
				}
			}
		}
	}
	return out, nil
}

// dialects are those that kernels of a kind of device are written in.
var dialects = map[string]*emit.Dialect{"cuda": emit.CUDA, "opencl": emit.OpenCL, session.CPU: emit.C}
