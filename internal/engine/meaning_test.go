package engine

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// What a program with one statement means is told as it was before such statements were sequences: measurements of
// earlier versions stay.
func TestMeaningOfOneStatement(t *testing.T) {
	const head = `parameter N = 8; iterator i; double u[N], v[N]; copyin u; copyout v;
stencil copy (o, a) { o[i] = a[i]; }
`
	for _, c := range []struct{ steps, want string }{
		{"copy (v, u);", "(body (run copy))"},
		{"copy (v, u); swap (v, u);", "(body (run copy) (rotate v u))"},
		{"copy (v, u); iterate 2 { copy (u, v); } copy (v, u);",
			"(body (run copy) (iterate (i32 2) (run copy.2)) (run copy))"},
		{"copy (v, u); copy (u, v);", "(body (sequence (run copy) (run copy.2)))"},
	} {
		p, list := lang.Load(diag.NewSource("t.loom", head+c.steps))
		if list.HasErrors() {
			t.Fatal(list[0].Message)
		}
		text := canonical(p)
		if got := strings.Join(strings.Fields(text[strings.Index(text, "(body"):]), " "); got != c.want+")" {
			t.Errorf("%s: %s, and not %s)", c.steps, got, c.want)
		}
	}
}
