package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Rival is a program that carries out the suite's cases in another way. Called
// with a case, a type and a grid it says in a line of JSON that it is ready,
// and then answers the words "tune" and "batch", each with a line.
type Rival struct {
	Name    string
	Command []string
}

// FindRivals returns the rivals whose scripts lie in a folder.
func FindRivals(dir string) ([]Rival, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("the rivals need Python: %w", err)
	}
	var list []Rival
	for _, r := range []struct{ name, file string }{
		{"simplest CUDA", "simplest_cuda.py"}, {"torch.compile", "torch_compile.py"}, {"Triton", "triton_tiles.py"},
	} {
		path, err := filepath.Abs(filepath.Join(dir, r.file))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("the rivals: %w", err)
		}
		list = append(list, Rival{r.name, []string{python, path}})
	}
	return list, nil
}

// How long a rival may take to compile itself, and to answer.
const (
	rivalStart  = 6 * time.Minute
	rivalAnswer = 2 * time.Minute
)

// answer is any line of a rival.
type answer struct {
	RivalBatch
	Values  []float64 `json:"values"`
	Faults  []string  `json:"faults"`
	Seconds float64   `json:"seconds"`
}

// rivalProcess is a rival that runs one case.
type rivalProcess struct {
	rival  Rival
	about  answer
	times  []float64
	failed error

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
	said  *child.Output // its errors; only read once it has ended
	ready bool
}

// startRival starts a rival on a case. It compiles while others are timed.
func startRival(ctx context.Context, r Rival, c spatialCase, grid string, cells []int64) *rivalProcess {
	args := slices.Concat(r.Command[1:], []string{c.name, c.dtype, grid, "--serve", "--cells", join(cells)})
	t := &rivalProcess{rival: r, lines: make(chan []byte), said: &child.Output{First: 16 << 10, Last: 16 << 10}}
	t.about.RivalBatch = RivalBatch{Rival: r.Name, Case: c.name, DType: c.dtype, Grid: grid}
	t.cmd = exec.CommandContext(ctx, r.Command[0], args...)
	t.cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	t.cmd.Stderr = t.said
	t.cmd.WaitDelay = time.Second
	out, err := t.cmd.StdoutPipe()
	if err == nil {
		t.in, err = t.cmd.StdinPipe()
	}
	if err == nil {
		err = child.Start(t.cmd)
	}
	if err != nil {
		t.failed = err
		return t
	}
	go func() {
		defer close(t.lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			t.lines <- bytes.Clone(s.Bytes())
		}
	}()
	return t
}

func join(cells []int64) string {
	var parts []string
	for _, c := range cells {
		parts = append(parts, strconv.FormatInt(c, 10))
	}
	return strings.Join(parts, ",")
}

// receive waits for the rival's next line.
func (t *rivalProcess) receive(patience time.Duration, to *answer) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case line, ok := <-t.lines:
		if !ok {
			return errors.New("it ended")
		}
		if err := json.Unmarshal(line, to); err != nil {
			return fmt.Errorf("it said what is no JSON: %.200q", line)
		}
		if to.Failed != "" {
			return errors.New(to.Failed)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("no answer within %v", patience)
	}
}

func (t *rivalProcess) ask(word string) (answer, error) {
	var a answer
	if _, err := io.WriteString(t.in, word+"\n"); err != nil {
		return a, err
	}
	return a, t.receive(rivalAnswer, &a)
}

// fail ends the rival with an error.
func (t *rivalProcess) fail(err error) {
	t.stop()
	lines := strings.Split(strings.TrimSpace(t.said.String()), "\n")
	if said := lines[max(0, len(lines)-3):]; len(said[0]) > 0 {
		err = fmt.Errorf("%w; it said: %s", err, strings.Join(said, " | "))
	}
	t.failed = err
}

// stop ends the process.
func (t *rivalProcess) stop() {
	if t.cmd == nil || t.cmd.Process == nil {
		return
	}
	t.in.Close()
	t.cmd.Process.Kill()
	for range t.lines { // it may still be talking
	}
	t.cmd.Wait()
	t.cmd = nil
}

// wait waits until the rival is ready.
func (t *rivalProcess) wait() {
	if t.failed != nil {
		return
	}
	if err := t.receive(rivalStart, &t.about); err != nil {
		t.fail(err)
	}
}

// prepare compares the rival's results at some cells with ours, and has it choose its fastest variant.
func (t *rivalProcess) prepare(values []float64) {
	if t.failed != nil {
		return
	}
	if err := sameValues(t.about.Values, values, t.about.DType); err != nil {
		t.fail(err)
		return
	}
	a, err := t.ask("tune")
	if err != nil {
		t.fail(err)
		return
	}
	t.about.Variant = a.Variant
	t.ready = true
}

// sameValues compares a few cells of two programs' results.
func sameValues(got, want []float64, dtype string) error {
	if len(got) != len(want) {
		return fmt.Errorf("it gave %d values for %d cells", len(got), len(want))
	}
	allowed := 1e-4
	if dtype == "double" {
		allowed = 1e-11
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= allowed*max(1, math.Abs(want[i]))) {
			return fmt.Errorf("it computes something else: %v where we have %v", got[i], want[i])
		}
	}
	return nil
}

// batch times one batch and keeps the seconds of a step.
func (t *rivalProcess) batch(keep bool) {
	if !t.ready || t.failed != nil {
		return
	}
	a, err := t.ask("batch")
	if err == nil && !(a.Seconds > 0) {
		err = fmt.Errorf("a step of %v seconds", a.Seconds)
	}
	if err != nil {
		t.fail(err)
		return
	}
	if keep {
		t.times = append(t.times, a.Seconds)
	}
}

// result returns the rival's result.
func (t *rivalProcess) result(points float64) RivalBatch {
	r := t.about.RivalBatch
	if t.failed != nil {
		r.Failed = t.failed.Error()
		return r
	}
	return r.from(rates(t.times, points))
}

// from fills in what samples amount to.
func (r RivalBatch) from(samples []float64) RivalBatch {
	r.Samples, r.GStencils, r.Interval = samples, median(samples), measure.Mean(samples)
	return r
}

// ParseRivals reads what rivals have printed that were run by themselves: a
// line of JSON each.
func ParseRivals(text []byte) ([]RivalBatch, error) {
	var list []RivalBatch
	for n, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var r RivalBatch
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("line %d is no result of a rival: %w", n+1, err)
		}
		if r.Failed == "" {
			if r.Rival == "" || r.Case == "" || len(r.Samples) < 5 {
				return nil, fmt.Errorf(
					"line %d is no result of a rival: it needs rival, case, dtype, grid and at least 5 samples", n+1)
			}
			r = r.from(r.Samples)
		}
		list = append(list, r)
	}
	return list, nil
}

// against fills in how a row stands against rivals.
func (r *SpatialRow) against(rivals []RivalBatch) {
	r.Rivals = rivals
	for _, v := range rivals {
		if v.Failed != "" || v.GStencils <= r.BestRivalG {
			continue
		}
		span := v.Interval
		r.BestRival, r.BestRivalG, r.BestRivalRange = v.Rival, v.GStencils, &span
	}
	if r.BestRival == "" {
		return
	}
	r.RatioToRival = r.GStencils / r.BestRivalG
	r.Apart = r.Interval.Apart(*r.BestRivalRange)
	r.RatioWanted = 1.25
	if r.CopyGBs > 0 {
		r.RatioWanted = min(r.RatioWanted, r.Aim*r.CopyGBs/(r.BestRivalG*r.BytesPerPoint))
	}
}

// someCells returns cells that a step writes, by number, for comparisons with
// other programs.
func someCells(b *ir.Binding, n int) []int64 {
	rng := rand.New(rand.NewPCG(7, 7))
	g := output(b.Program)
	var list []int64
	for _, st := range b.Program.Calls[0].Body {
		if st.Array == nil || st.Array.Grid != g {
			continue
		}
		shape := b.Shape(g.Dims)
		for range n {
			at := int64(0)
			for d, axis := range st.Axes {
				r := b.Range(st.Domain[axis])
				at = at*int64(shape[d]) + int64(r.Lo) + rng.Int64N(int64(r.Len()))
			}
			list = append(list, at)
		}
		break
	}
	return list
}
