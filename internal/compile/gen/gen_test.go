package gen

import (
	"context"
	"flag"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

var seeds = flag.Uint64("seeds", 300, "how many random programs to make")

func made(t testing.TB, seed uint64, o Options) *Case {
	t.Helper()
	c, err := Make(seed, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProgramsAreValidAndTheSameEachTime(t *testing.T) {
	for seed := range *seeds {
		c := made(t, seed, Options{})
		if err := ir.Verify(c.Program); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
		}
		if d := made(t, seed, Options{}); d.Source != c.Source {
			t.Fatalf("seed %d makes two programs:\n%s\n%s", seed, c.Source, d.Source)
		}
	}
}

// The formatter keeps what a program means.
func TestFormattedProgramsMeanTheSame(t *testing.T) {
	for seed := range *seeds {
		c := made(t, seed, Options{})
		formatted, _ := lang.Format(diag.NewSource(name(seed), c.Source))
		p, diags := lang.Load(diag.NewSource(name(seed), formatted))
		if p == nil {
			t.Fatalf("seed %d: %s\n%s", seed, first(diags), formatted)
		}
		if ir.Text(p) != ir.Text(c.Program) {
			t.Fatalf("seed %d means something else once formatted:\n%s\n%s", seed, c.Source, formatted)
		}
	}
}

// Everything that the language has turns up.
func TestProgramsCoverTheLanguage(t *testing.T) {
	want := []string{
		`parameter \w+;`, `parameter \w+ = \d`, `parameter \w+ = \w+\+\d`,
		`iterator \w+;`, `iterator \w+, \w+;`, `iterator \w+, \w+, \w+;`,
		`double \w+\[`, `float \w+\[`, `int \w+\[`, `byte \w+\[`, `bool \w+\[`, `\[-1:`, `\[1\.\.`, `\]\[`,
		`double \w+ = `, `double \w+;`, `int \w+;`, `(?m)^float \w+\[\d\] = \{`, `\[\d\]\[2\] = \{\{`,
		`boundary .*clamp`, `mirror`, `reflect`, `antimirror`, `antireflect`, `periodic`, `constant\(`, `on \w+\.low`,
		`on \w+\.high`,
		`copyin`, `copyout`, `constant \w`, `coefficient`, `initial \{`, `random\(`,
		`stencil \w+ \(`, `function \w+ \(`, `inout:`, `#pragma stream`, `shmem`, `gmem`, `no-shmem`,
		`\+= `, `-= `, `\*= `, `/= `, `&= `, `\|= `,
		`  \[.*\] : \w`, `(?m)^\s*\[.*\] : \w+ \(`, `color \(.*== each`, `color \(.*== 0`,
		`color \(.*\) % \d == \d : reduce sum`, `reduce sum`, `reduce max`, `reduce min`, `\[\w+\+\d`, `\[\w+-\d`,
		`\w\[0\]`,
		`sum \(r0 in 1\.\.2\)`, `sum \(r0 .*sum \(r1`, `\+r0`, `-r0`,
		` \? .* : `, `&&`, `\|\|`, `!\w|!\(`, `min\(`, `max\(.*,.*,.*\)`, `fmin\(`, `abs\(`, `int\(`, `byte\(`,
		`double\(`, `float\(`,
		`\^2`, `\^3`, `\^-\d`, `\^-0\.5`, `%`, `&`, `\|`, `/`, `true|false`, `step`,
		`sqrt\(`, `floor\(`, `fmod\(`, `sin\(`, `pow\(`, `atan2\(`, `tanh\(`, `1e-1`,
		`iterate \d`, `iterate \(1:3\)`, `iterate until`, `check \d`, `max \d`, `swap \(`, `rotate \(\w+, \w+, \w+\)`,
	}
	var all strings.Builder
	nodes := map[string]bool{}
	looped, nested, temps, locals, kept := false, false, false, false, false
	for seed := range *seeds {
		c := made(t, seed, Options{})
		all.WriteString(c.Source)
		nodes[ir.Text(c.Program)] = true
		looped = looped || ir.PingPong(c.Program) != c.Program
		text := ir.Text(c.Program)
		nested = nested || strings.Count(text, "(iterate") > 1
		temps = temps || strings.Contains(text, "(temp ")
		locals = locals || strings.Contains(text, "(local ")
		kept = kept || regexp.MustCompile(`\(local t\d* f\d+ read written`).MatchString(text)
	}
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(all.String()) {
			t.Errorf("no program has %s", w)
		}
	}
	if !looped || !nested || !temps || !locals || !kept {
		t.Errorf(
			"ping-pong calls: %t, nested loops: %t, scalar locals: %t, local grids: %t, scalar locals that outlive "+
				"their sources: %t",
			looped, nested, temps, locals, kept)
	}
	if len(nodes) < int(*seeds)*9/10 {
		t.Errorf("%d seeds make only %d programs", *seeds, len(nodes))
	}
}

func TestExactProgramsUseNoInexactFunction(t *testing.T) {
	for seed := range *seeds {
		c := made(t, seed, Options{Exact: true})
		for _, s := range c.Program.Calls {
			for _, st := range s.Body {
				ir.Walk(st.Value, func(e ir.Expr) {
					if f, ok := e.(*ir.FuncCall); ok && f.Func.ULP() != 0 {
						t.Fatalf("seed %d calls %v\n%s", seed, f.Func, c.Source)
					}
				})
			}
		}
	}
}

// Values stay finite and small, so that differences between two executions
// are not drowned.
func TestValuesStayTame(t *testing.T) {
	for seed := range *seeds / 4 {
		c := made(t, seed, Options{})
		for _, set := range c.Sets[:min(4, len(c.Sets))] {
			b, errs := c.Program.Bind(set)
			if errs != nil {
				t.Fatal(errs[0].Message)
			}
			s, err := interp.New(b, interp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			given := map[*ir.Grid]bool{}
			for _, g := range c.Program.Grids {
				if g.CopyIn || g.Constant {
					a := s.Grid(g.Name)
					copy(a.Data, Input(g.Type, a.Len(), seed))
					given[g] = true
				}
			}
			s.RunInitial(given)
			if err := s.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, g := range c.Program.Grids {
				for n := range s.Grid(g.Name).Len() {
					if v := s.Grid(g.Name).At(n); g.Type.IsFloat() && !(math.Abs(v) <= limit*(1+1e-6)) {
						t.Fatalf("seed %d, %v: %s[%d] is %v\n%s", seed, set, g.Name, n, v, c.Source)
					}
				}
			}
		}
	}
}

func TestSetsHaveManyShapes(t *testing.T) {
	one, large, cases := 0, 0, 0
	for seed := range *seeds {
		c := made(t, seed, Options{})
		cases += len(c.Sets)
		for _, set := range c.Sets {
			for _, v := range set {
				if v == "1" {
					one++
				}
				if len(v) > 1 && v > "35" && v < "60" {
					large++
				}
			}
		}
	}
	if n := int(*seeds); one < n/10 || large < n/2 || cases < 4*n {
		t.Errorf("%d seeds: %d shapes, %d sizes are 1 and %d large", n, cases, one, large)
	}
}

func TestShrink(t *testing.T) {
	valid := func(source string) bool {
		p, _ := lang.Load(diag.NewSource("x.loom", source))
		return p != nil
	}
	for seed := range uint64(6) {
		c := made(t, seed, Options{Size: 12})
		holds := func(source string) bool { return strings.Contains(source, "swap") && valid(source) }
		if !holds(c.Source) {
			continue
		}
		small := Shrink(c.Source, holds)
		if !holds(small) || len(small) > 150 || len(small) > len(c.Source) {
			t.Errorf("seed %d shrinks to %d characters:\n%s", seed, len(small), small)
		}
	}
}

// Most programs that are made for spans have a time loop whose iterations can share a kernel.
func TestSpanPrograms(t *testing.T) {
	allowed := 0
	const programs = 60
	for seed := range uint64(programs) {
		c, err := Make(seed, Options{Spans: true})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(graph.Loops(c.Program), func(l graph.Loop) bool {
			_, err := graph.NewSpan(c.Program, l, 3)
			return err == nil
		}) {
			allowed++
		}
	}
	if allowed < programs*8/10 {
		t.Errorf("%d of %d programs", allowed, programs)
	}
}
