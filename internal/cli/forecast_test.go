package cli

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/target"
)

func TestForecast(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const source = `parameter N = 1000;
iterator i;
double u[N], v[N];
initial { u[i] = 0.5*i; }
stencil step (out, in) { out[i] = 0.5*in[i] + 0.25*(in[i+1] + in[i-1]); }
iterate STEPS { step (v, u); swap (v, u); }
`
	for _, test := range []struct {
		steps, n string
		device   string
		want     string
	}{
		{"10", "1000", "cpu", ""},
		{"10", "1000000000", "cpu",
			"the grids take 14.9 GiB, their initial values about 20 seconds, the run about 45 seconds on cpu, by a rough estimate"},
		{"10", "1000000000", "cuda:0",
			"the grids take 14.9 GiB, their initial values about 20 seconds, by a rough estimate"},
		{"10", "1000000000", "ref",
			"the grids take 14.9 GiB, their initial values about 20 seconds, the run about 7 minutes on ref, by a rough estimate"},
		{"2000000000", "1000", "cpu", "the grids take 15.6 KiB, the run about 3 hours on cpu, by a rough estimate"},
		{"until (s < 1)", "1000000000", "ref",
			"the grids take 14.9 GiB, their initial values about 20 seconds, an iteration of its loops about 50 seconds on ref, by a rough estimate"},
	} {
		text := source
		if test.steps[0] == 'u' {
			text = "double s;\n" + text
			text = replaced(text, "in[i-1]); }", "in[i-1]); reduce max s = out[i]; }")
			text = replaced(text, "step (out, in) {", "step (out, in, s) {")
			text = replaced(text, "step (v, u);", "step (v, u, s);")
		}
		src := diag.NewSource("t.loom", replaced(text, "STEPS", test.steps))
		p, list := lang.Load(src)
		if list.HasErrors() {
			t.Fatal(diag.Render(src, list, diag.Style{}))
		}
		b, list := p.Bind(map[string]string{"N": test.n})
		if list.HasErrors() {
			t.Fatal(list)
		}
		kind, ordinal, err := target.Parse(test.device)
		if err != nil {
			t.Fatal(err)
		}
		on := target.Of(kind, ordinal, device.Properties{}, target.Options{})
		job := engine.Job{Bound: b, Device: &engine.Device{Target: on}}
		if got := forecastText(job.Forecast(), test.device); got != test.want {
			t.Errorf("iterate %s, N=%s on %s:\n got %s\nwant %s", test.steps, test.n, test.device, got, test.want)
		}
	}
	if got := roughly(40 * 24 * time.Hour); got != "40 days" {
		t.Error(got)
	}
}

func replaced(text, old, new string) string { return strings.Replace(text, old, new, 1) }
