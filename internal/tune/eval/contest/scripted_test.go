package contest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// scripted is a Lab that pretends to be a GPU: a function says how long each
// plan takes, and its clock goes on by that.
type scripted struct {
	program *ir.Program
	machine *machine.Machine
	name    string
	setting measure.Setting

	mutex sync.Mutex
	now   time.Time
	tried []string
}

func newScripted(t *testing.T, x *Subject) *scripted {
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	return &scripted{program: x.bound.Program, machine: m, name: "Pretended", now: time.Unix(1e9, 0)}
}

func (s *scripted) clock() time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.now
}

func (s *scripted) pass(seconds float64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.now = s.now.Add(time.Duration(seconds * float64(time.Second)))
}

func (s *scripted) open(context.Context) (measure.Lab, error) { return s, nil }

func (s *scripted) About() measure.About {
	return measure.About{
		ID: "scripted", Name: s.name, Driver: "1", Compiler: "none",
		Target:  target.OnPaper(emit.CUDA, s.machine, arith.Contract),
		Workers: 4, Least: time.Millisecond,
	}
}

func (s *scripted) Fits(*exec.Script) error { return nil }
func (s *scripted) Close()                  {}

func (s *scripted) Compile(_ context.Context, text measure.Text) (measure.Compiled, error) {
	return measure.Compiled{Image: text.Name, Took: 100 * time.Millisecond}, nil
}

func (s *scripted) Arrange(_ context.Context, setting measure.Setting) error {
	s.setting = setting
	return nil
}

func (s *scripted) Expect(ctx context.Context, c measure.Code, fetch bool) (measure.Values, error) {
	var v measure.Values
	if !fetch {
		return v, nil
	}
	set := map[string]string{}
	for i, q := range s.program.Params {
		set[q.Name] = fmt.Sprint(s.setting.Grids[0].Shape[i])
	}
	b, list := s.program.Bind(set)
	if list.HasErrors() {
		return v, errors.New(list[0].Message)
	}
	state, err := interp.New(b, interp.Options{})
	if err != nil {
		return v, err
	}
	for i, g := range s.program.Grids {
		a := state.Grid(g.Name)
		for n := range a.Len() {
			if c.Use.Reads[i] {
				a.Set(n, measure.Value(g.Type, int64(n), int64(i)))
			}
		}
		for n := range a.Data {
			if !c.Use.Reads[i] {
				a.Data[n] = 0xFF
			}
		}
	}
	err = state.Run(ctx)
	for _, g := range s.program.Grids {
		v.Grids = append(v.Grids, state.Grid(g.Name).Data)
	}
	return v, err
}

func (s *scripted) Try(_ context.Context, c measure.Code, _ measure.Margins, r measure.Rule,
	limit time.Duration) (measure.Trial, error) {
	v, err := speed(c.Name)
	// else it is done in idle time, as often as the machine happens to allow
	if r.Batches > 1 || limit == 30*time.Second {
		s.mutex.Lock()
		s.tried = append(s.tried, c.Name)
		s.mutex.Unlock()
		s.pass(0.04)
	}
	t := measure.Trial{Agreement: measure.Agreement{Cells: 10}}
	t.Times, t.Launches = []float64{v, v, v}, 1
	t.Resources = measure.Resources{Registers: 40, Shared: 1 << 10, Blocks: 3}
	return t, err
}

func (s *scripted) Batch(_ context.Context, c measure.Code, _ time.Duration) (float64, error) {
	v, err := speed(c.Name)
	s.pass(0.01)
	return v, err
}

func (s *scripted) Copy(_ context.Context, bytes int64, _ time.Duration) (float64, error) {
	s.pass(0.001)
	return float64(bytes) * 2 / 100e9, nil
}

// speed is best for vectors of 4 and blocks of 128 threads; kernels for 512
// cannot be launched.
func speed(plan string) (float64, error) {
	p, err := schedule.ParsePlan(plan)
	if err != nil {
		return 0, err
	}
	c := p.Every
	if len(p.Kernels) > 0 {
		c = p.Kernels[0].Config
	}
	threads := int64(1)
	for _, n := range c.Ints("block") {
		threads *= n
	}
	if threads == 512 {
		return 0, verdict.For(verdict.Launch, errors.New("too many threads"))
	}
	v := int64(1)
	if c.Has("vec") {
		v = c.Int("vec")
	}
	d := float64(threads-128) / 128
	return 1e-4 * (1 + d*d + float64(4-min(v, 4))), nil
}
