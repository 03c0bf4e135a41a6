package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

const printed = `
parameter M = 8, N = 8;
iterator j, i;
double u[M,N], next[M,N];
copyin u;
stencil spread (out, in) {
  double flux[M,N];
  flux[j][i] = in[j][i+1] - in[j][i];
  out[j][i] = flux[j][i] + flux[j-1][i];
}
stencil sums (out, in) {
  out[j][i] = 3*in[j-1][i] + 3*in[j-1][i+1] + in[j+1][i];
}
iterate 2 { spread (next, u); sums (u, next); }
copyout u;
`

// --print-after takes the name of every pass in every language, and says either what
// the pass has made or what it is for.
func TestPrintAfter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "printed.loom")
	if err := os.WriteFile(file, []byte(printed), 0o644); err != nil {
		t.Fatal(err)
	}
	plans := map[string]string{
		"c":      "local=fused",
		"cuda":   "family=planes,local=fused,cse=yes,retime=yes,fold=yes",
		"opencl": "family=tile,local=fused,cse=yes,fold=yes",
	}
	for target, plan := range plans {
		status, plain, notes := invoke("emit", file, "--target", target, "--fp", "fast", "--plan", plan)
		if status != 0 || notes != "" {
			t.Fatalf("%s: %d: %s", target, status, notes)
		}
		ran := map[string]bool{}
		for _, p := range append(lower.Passes(), lower.Pass{Name: "all"}) {
			status, code, text := invoke("emit", file, "--target", target, "--fp", "fast",
				"--plan", plan, "--print-after", p.Name)
			if status != 0 || code != plain {
				t.Errorf("%s, %s: %d, other code: %v", target, p.Name, status, code != plain)
			}
			after, skipped := "; after "+p.Name+" of ", fmt.Sprintf("; %s does not run for ", p.Name)
			if p.Name == "all" {
				after = "; after names of "
			}
			if ran[p.Name] = strings.Contains(text, after); !ran[p.Name] && !strings.Contains(text, skipped) {
				t.Errorf("%s, %s: %q", target, p.Name, text)
			}
		}
		for _, name := range []string{"group", "build", "names", "all", "inline"} {
			if !ran[name] {
				t.Errorf("%s: %s has not run", target, name)
			}
		}
		if ran["strides"] != (target != "c") || !ran["fold"] && target != "c" {
			t.Errorf("%s: %v", target, ran)
		}
	}
	status, code, text := invoke("emit", file, "--print-after", "stride")
	const want = "no pass is called stride; did you mean strides? Others are inline, group, "
	if status != 2 || code != "" || !strings.Contains(text, want) {
		t.Errorf("%d: %s", status, text)
	}
}
