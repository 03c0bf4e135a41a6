package proof

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// sanitizer is NVIDIA's checker of kernels.
type sanitizer struct {
	path string
	self string // this program
}

// sanitizer finds the checker, if it is asked for and the device is one of its
// GPUs.
func (p *deviceProver) sanitizer() (*sanitizer, error) {
	if p.Sanitize == 0 {
		return nil, nil
	}
	return sanitizerOf(p.Device)
}

// sanitizerOf finds the checker of a device; nil if none is for it.
func sanitizerOf(device string) (*sanitizer, error) {
	if _, ok := cuda.Kind.ParseID(device); !ok {
		return nil, nil
	}
	path, err := exec.LookPath("compute-sanitizer")
	if err != nil {
		return nil, fmt.Errorf("compute-sanitizer: %w", err)
	}
	self, err := os.Executable()
	return &sanitizer{path, self}, err
}

// sanitizerTools are what it can look for.
var sanitizerTools = []string{"memcheck", "racecheck"}

// summary is the line in which it says how many mistakes a process has made.
var summary = regexp.MustCompile(`(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)`)

// watched runs a trial at its small sizes under the checker.
func (p *deviceProver) watched(ctx context.Context, w *sanitizer, t trial) {
	plan, at, err := t.plan()
	if err != nil || ctx.Err() != nil {
		return
	}
	plan, _ = withSizeArguments(withoutInitial(plan, t.program))
	a := t.mode()
	for _, tool := range sanitizerTools {
		args := []string{"run", t.src.Name, "--device", p.Device, "--fp", a.String(), "--plan", plan.String(),
			"--no-graph"}
		for _, name := range slices.Sorted(maps.Keys(at[0].set)) {
			args = append(args, "--set", name+"="+at[0].set[name])
		}
		reason := w.watch(ctx, tool, args)
		if ctx.Err() != nil {
			return
		}
		if reason == "" {
			p.result.Sanitized++
			continue
		}
		f := Failure{Program: t.src.Name, Seed: t.seed, Mode: a.String(), Plan: plan.String(), Set: at[0].set,
			Reason: reason}
		p.result.Failures = append(p.result.Failures, f)
		if p.Log != nil {
			fmt.Fprintln(p.Log, f.String())
		}
	}
}

// watch runs this program under a tool, and returns what it finds; "" if that is nothing.
func (w *sanitizer) watch(ctx context.Context, tool string, args []string) string {
	args = append([]string{"--tool", tool, "--target-processes", "all", w.self}, args...)
	said, err := child.Program{Path: w.path, Args: args}.Run(ctx)
	found := summary.FindAllStringSubmatch(said, -1)
	mistakes := 0
	for _, m := range found {
		n, _ := strconv.Atoi(m[1] + m[2])
		mistakes += n
	}
	switch {
	case mistakes > 0:
		return strings.TrimSpace(fmt.Sprintf("compute-sanitizer, %s:\n%.4000s", tool, said))
	case len(found) == 0:
		return strings.TrimSpace(fmt.Sprintf("compute-sanitizer, %s, says nothing of mistakes: %v\n%.2000s", tool, err,
			said))
	}
	return ""
}
