package emit_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Small loops have no team: which those are is tested where the sizes are
// arguments, and decided where they are known. A plan's threads are a team of any size.
func TestTeams(t *testing.T) {
	const source = `
iterator j, i;
double u[N,N], v[N,N];
stencil s (out, in) { out[j][i] = in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]; }
s (v, u);
`
	const team = "#pragma omp parallel for schedule(static)"
	for _, test := range []struct {
		plan, n string // N is an argument
		want    []string
	}{
		{"", "N", []string{team + " if((j_hi - 1) * (i_hi - 1) >= 37450)"}},
		{"block=0x64", "N", []string{team + " if((j_hi - 1) * (i_hi - 1) >= 37450)"}},
		{"threads=2", "N", []string{team + " num_threads(2)"}},
		{"", "33", nil},
		{"", "512", []string{team}},
		{"threads=2", "33", []string{team + " num_threads(2)"}},
	} {
		plan, err := schedule.ParsePlan(test.plan)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(source, "N", test.n)
		if test.n == "N" {
			text = "parameter N = 64;" + text
		}
		p, list := lang.Load(diag.NewSource("s.loom", text))
		if list.HasErrors() {
			t.Fatal(list)
		}
		m, err := lower.Program(p, lower.Options{Plan: plan, NoInitial: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := pragmas.FindAllString(emit.Source(emit.C, m), -1); !slices.Equal(got, test.want) {
			t.Errorf("plan %q, N=%s: %q, want %q", test.plan, test.n, got, test.want)
		}
	}
}

var pragmas = regexp.MustCompile(`#pragma omp parallel.*`)

// A pragma that is broken goes on in the next line, as backslashes say.
func TestLongPragmas(t *testing.T) {
	const source = `
parameter PLANES = 64, ROWS = 64, COLUMNS = 64;
iterator plane_of_the_block, row_of_the_block, column_of_the_block;
double u[PLANES,ROWS,COLUMNS], v[PLANES,ROWS,COLUMNS];
stencil s (out, in) {
  out[plane_of_the_block][row_of_the_block][column_of_the_block] = in[plane_of_the_block-1][row_of_the_block+1][column_of_the_block+1]
    + in[plane_of_the_block+1][row_of_the_block-1][column_of_the_block-1];
}
s (v, u);
`
	plan, err := schedule.ParsePlan("block=2x16x0")
	if err != nil {
		t.Fatal(err)
	}
	p, list := lang.Load(diag.NewSource("s.loom", source))
	if list.HasErrors() {
		t.Fatal(list)
	}
	m, err := lower.Program(p, lower.Options{Plan: plan, NoInitial: true})
	if err != nil {
		t.Fatal(err)
	}
	text := emit.Source(emit.C, m)
	whole := regexp.MustCompile(`#pragma omp parallel(.*\\\n)*.*`).FindAllString(text, -1)
	if len(whole) == 0 || !slices.ContainsFunc(whole, func(s string) bool { return strings.Contains(s, "\n") }) {
		t.Fatalf("no pragma is long: %q", whole)
	}
	for _, pragma := range whole {
		if strings.Count(pragma, "(") != strings.Count(pragma, ")") {
			t.Errorf("the compiler sees no more than %q", pragma)
		}
	}
}
