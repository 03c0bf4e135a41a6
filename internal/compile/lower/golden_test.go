package lower_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

var update = flag.Bool("update", false, "write the goldens")

// goldens are programs of testdata with ways to lower them. internal/compile/emit
// prints the same as C, compiles and runs it.
var goldens = []struct {
	name, source string
	target       lower.Target
	strict       bool
	plan         string
}{
	{name: "heat", source: "heat"},
	{name: "heat-blocks", source: "heat", plan: "block=0x4x64,threads=2"},
	{name: "heat-gpu", source: "heat", target: lower.GPU},
	{name: "heat-tile", source: "heat", target: lower.GPU, plan: "family=tile,block=1x4x32,vec=2,rows=1x2"},
	{name: "heat-shared", source: "heat", target: lower.GPU,
		plan: "family=tile,stages=1,block=1x4x32,vec=2"},
	{name: "heat-halos", source: "heat", target: lower.GPU,
		plan: "family=tile,stages=1,staging=halos,block=1x4x32,vec=2"},
	{name: "heat-perspective", source: "heat", target: lower.GPU,
		plan: "family=tile,stages=1,perspective=input,block=1x8x32,vec=2,rows=1x1"},
	{name: "star-planes", source: "star", target: lower.GPU,
		plan: "family=planes,chunk=16,stages=1,block=4x32,vec=2,cse=yes"},
	{name: "star-tensor", source: "star", target: lower.GPU,
		plan: "family=planes,chunk=16,stages=2,copy=tensor,block=4x32,vec=4,cse=yes"},
	{name: "star-retimed", source: "star", target: lower.GPU,
		plan: "family=planes,chunk=16,retime=yes,block=4x32,vec=2"},
	{name: "redblack", source: "redblack"},
	{name: "norm", source: "norm"},
	{name: "norm-strict", source: "norm", strict: true},
	{name: "local", source: "local"},
	{name: "domains", source: "domains"},
	{name: "line", source: "line"},
	{name: "cell", source: "cell"},
	{name: "staggered", source: "staggered"},
}

// A golden's text shows what lowering has made of a program.
func TestGoldens(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			mode := arith.Contract
			if g.strict {
				mode = arith.Strict
			}
			m, err := lowered(source(t, g.source).In(mode), lower.Options{Target: g.target, Plan: plan(t, g.plan)})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range m.Kernels {
				again, err := kernel.ParseText(kernel.Text(k))
				if err != nil || kernel.Text(again) != kernel.Text(k) {
					t.Errorf("%s does not read back: %v", k.Name, err)
				}
			}
			file := filepath.Join("testdata", "golden", g.name+".kernels")
			if *update {
				if err := os.WriteFile(file, []byte(moduleText(m)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := moduleText(m); got != string(want) {
				t.Errorf("%s has changed; see the difference with -update and git diff\n%s", file, got)
			}
		})
	}
}

// moduleText prints a module: its memory, the launches of each call (after the word stage, as ir.Text has it), the
// kernels.
func moduleText(m *kernel.Module) string {
	var b strings.Builder
	for _, s := range m.Scratch {
		fmt.Fprintf(&b, "; scratch %s: %s of %s\n", s.Name, kernel.ExprText(s.Cells), s.Elem)
	}
	calls := m.Program.Calls
	if m.Program.Initial != nil {
		calls = append(calls[:0:0], m.Program.Initial)
		calls = append(calls, m.Program.Calls...)
	}
	for _, s := range calls {
		for _, l := range m.Calls[s] {
			var args []string
			for _, a := range l.Args {
				args = append(args, argText(m, a))
			}
			fmt.Fprintf(&b, "; stage %s: %s (%s)\n", s.Name, l.Kernel.Name, strings.Join(args, ", "))
		}
	}
	for _, k := range m.Kernels {
		b.WriteString("\n" + kernel.Text(k))
	}
	return b.String()
}

func argText(m *kernel.Module, a kernel.Arg) string {
	switch a := a.(type) {
	case kernel.GridArg:
		return "grid " + a.Grid.Name
	case kernel.ScratchArg:
		return "scratch " + a.Scratch.Name
	case kernel.CellArg:
		return "cell of " + a.Scalar.Name
	case kernel.ScalarArg:
		return "scalar " + a.Scalar.Name
	case kernel.SizeArg:
		return "size " + m.Program.Params[a.Param].Name
	case kernel.StepArg:
		return "step"
	}
	panic(fmt.Sprintf("no argument is a %T", a))
}
