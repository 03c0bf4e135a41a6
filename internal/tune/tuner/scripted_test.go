package tuner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// scripted is a Lab without a device: a function says how long each plan takes,
// and what goes wrong. Its clock goes on by what it is asked to do.
type scripted struct {
	t       testing.TB
	speed   func(plan string) (float64, error)
	compile func(plan string) error
	spills  func(plan string) int // bytes of a thread; nil for none
	ended   func(tried int)       // is called after each trial
	// again is asked by each trial that is made in idle time, and last by those of
	// the plans at the end. Where again is nil such trials take no time, since how
	// many there are is for the machine to say that the test runs on.
	again, last func(plan string) error

	mutex   sync.Mutex
	now     time.Time
	shared  bool
	workers int
	cache   int64
	setting measure.Setting
	bound   *ir.Binding // of the program, for what the plain kernels compute
	tried   []string
	expects int
	// expected says that somebody has computed what trials are compared with since memory was arranged.
	expected bool
}

func newScripted(t testing.TB, b *ir.Binding, speed func(plan string) (float64, error)) *scripted {
	return &scripted{t: t, bound: b, speed: speed, now: time.Unix(1e9, 0)}
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

func (s *scripted) About() measure.About {
	return measure.About{
		ID:         "scripted",
		Name:       "scripted",
		Compiler:   "none",
		Target:     target.OnPaper(emit.C, nil, arith.Contract),
		Workers:    max(3, s.workers),
		Least:      time.Millisecond,
		Shared:     s.shared,
		CacheBytes: s.cache,
	}
}

func (s *scripted) Fits(*exec.Script) error { return nil }
func (s *scripted) Close()                  {}

func (s *scripted) Compile(ctx context.Context, text measure.Text) (measure.Compiled, error) {
	if s.compile != nil {
		if err := s.compile(text.Name); err != nil {
			return measure.Compiled{}, err
		}
	}
	made := measure.Compiled{Image: text.Name, Took: 100 * time.Millisecond}
	if s.spills != nil {
		made.Resources.Spills = s.spills(text.Name)
	}
	return made, nil
}

func (s *scripted) Arrange(_ context.Context, setting measure.Setting) error {
	s.setting, s.expected = setting, false
	return nil
}

// Expect executes the call on the reference executor if somebody wants to see
// what comes of it.
func (s *scripted) Expect(ctx context.Context, c measure.Code, fetch bool) (measure.Values, error) {
	s.expects++
	s.expected = true
	var v measure.Values
	if !fetch {
		return v, nil
	}
	k, err := schedule.ParsePlan(c.Name)
	if err != nil {
		return v, err
	}
	p := *s.bound.Program
	for _, call := range p.Calls {
		if call.Name == k.Kernels[0].Call {
			p.Body = []ir.Op{&ir.Run{Call: call}}
		}
	}
	set := map[string]string{}
	for i, q := range p.Params {
		set[q.Name] = fmt.Sprint(s.setting.Grids[0].Shape[i])
	}
	b, list := p.Bind(set)
	if list.HasErrors() {
		return v, errors.New(list[0].Message)
	}
	state, err := interp.New(b, interp.Options{})
	if err != nil {
		return v, err
	}
	for i, g := range p.Grids {
		a := state.Grid(g.Name)
		for n := range a.Len() {
			if c.Use.Reads[i] {
				a.Set(n, measure.Value(g.Type, int64(n), int64(i)))
			}
		}
		if !c.Use.Reads[i] {
			for n := range a.Data {
				a.Data[n] = 0xFF
			}
		}
	}
	err = state.Run(ctx)
	for _, g := range p.Grids {
		v.Grids = append(v.Grids, state.Grid(g.Name).Data)
	}
	return v, err
}

func (s *scripted) Try(ctx context.Context, c measure.Code, _ measure.Margins, r measure.Rule,
	limit time.Duration) (measure.Trial, error) {
	t := measure.Trial{Agreement: measure.Agreement{Cells: 10}}
	if !s.expected || s.setting.Name == "profile" {
		return t, errors.New("nobody has computed what it should be")
	}
	late := r.Batches == 1 && limit == firstTrialLimit // the reference, and plans at the end
	if r.Batches == 1 && !late {
		return s.recheck(c.Name)
	}
	s.tried = append(s.tried, c.Name)
	defer func() {
		if s.ended != nil {
			s.ended(len(s.tried))
		}
	}()
	v, err := s.speed(c.Name)
	s.pass(0.01 + v)
	if late && s.last != nil {
		err = errors.Join(err, s.last(c.Name))
	}
	t.Times, t.Launches = []float64{v, v, v}, 1
	if s.spills != nil {
		t.Resources.Spills = s.spills(c.Name)
	}
	return t, err
}

// recheck is a trial that is made in idle time.
func (s *scripted) recheck(plan string) (measure.Trial, error) {
	var t measure.Trial
	v, err := s.speed(plan)
	t.Times, t.Launches = []float64{v}, 1
	if s.again != nil && err == nil {
		s.pass(0.01 + v)
		err = s.again(plan)
	}
	return t, err
}

func (s *scripted) Batch(_ context.Context, c measure.Code, _ time.Duration) (float64, error) {
	v, err := s.speed(c.Name)
	s.pass(v)
	return v, err
}

func (s *scripted) Copy(_ context.Context, bytes int64, _ time.Duration) (float64, error) {
	s.pass(0.001)
	return float64(bytes) * 2 / 100e9, nil // 100 GB/s
}

// program binds a source.
func program(t testing.TB, source string) *ir.Binding {
	t.Helper()
	p, list := lang.Load(diag.NewSource("test.loom", source))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	b, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	return b
}

const plane = `
parameter M = 512, N = 512;
iterator j, i;
double u[M,N], next[M,N];
stencil five (out, in) { out[j][i] = 0.25*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]); }
iterate 10 { five (next, u); swap (next, u); }
`

const two = `
parameter M = 512, N = 512;
iterator j, i;
double u[M,N], v[M,N], w[M,N];
stencil cheap (out, in) { out[j][i] = 2*in[j][i]; }
stencil dear (out, in) { out[j][i] = 0.25*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]); }
cheap (v, u);
dear (w, v);
`

// setting returns the number of a setting in a plan's text, 0 if it is not there.
func setting(plan, name string) int {
	_, rest, found := strings.Cut(plan, name+"=")
	n := 0
	if found {
		fmt.Sscanf(rest, "%d", &n)
	}
	return n
}

// smooth is fastest for blocks of 32 rows and 2 threads.
func smooth(plan string) (float64, error) {
	rows, threads := setting(plan, "block"), setting(plan, "threads")
	d := float64(rows - 32)
	e := float64(threads - 2)
	return 1e-3 * (1 + d*d/1000 + e*e/1000), nil
}

// faulty goes wrong in every way that there is.
func faulty(plan string) (float64, error) {
	switch setting(plan, "block") {
	case 1:
		return 0, &measure.Crash{Err: &measure.Late{Limit: time.Second}}
	case 2:
		return 0, &measure.Crash{Err: errors.New("it touched memory that is not its own (SIGSEGV)")}
	case 4:
		return 0, verdict.For(verdict.Launch, errors.New("too many threads"))
	case 8:
		return 0, &measure.Mismatch{What: "next[1][1]", Got: 1, Want: 2}
	}
	return smooth(plan)
}
