package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// mostAllocations is how many allocations checking may make for a byte of source.
// Most programs take one to three. More has a reason: calls multiply what stands in
// a stencil, locals that are used twice double what they stand for.
func mostAllocations(name string) float64 {
	switch name {
	case "scalar locals", "growing tables":
		return 150
	case "kept locals":
		return 500
	case "many calls":
		return 800
	}
	return 10
}

// TestLargePrograms checks texts near the limits with work in proportion.
func TestLargePrograms(t *testing.T) {
	const head = "iterator i;\ndouble u[64], v[64], s;\n"
	repeat := func(n int, f string) string {
		var b strings.Builder
		for i := range n {
			if strings.Contains(f, "%") {
				fmt.Fprintf(&b, f, i)
			} else {
				b.WriteString(f)
			}
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"scalar locals": head + "stencil f (a) { double r = 1;" + repeat(1000, "r = r + r + a[i];") +
			"a[i] = r; } f (u);",
		"kept locals": head + "stencil f (a) { double r = a[i];" + repeat(2000, "a[i] = r; r += a[i];") +
			"} f (u);",
		"locals of locals": head + "stencil f (a) { double r0 = a[i], r1 = a[i];" + chained(4000) +
			"a[i] = r4001; } f (u);",
		"many calls": head + "stencil f (a, x) { a[i] = x" + repeat(500, "+ x*a[i]") + "; }" +
			repeat(300, "f (u, %d);"),
		"long sum": head + "stencil f (a, b) { a[i] = " + repeat(10000, "b[i] + ") + "0; } f (u, v);",
		"tables": head + "double c0[1] = {s};" + repeat(60, "double d%[1]d[1] = {c0[0]};") +
			"double e1[1] = {c0[0] + c0[0]};" + repeat(40, "double g%[1]d[1] = {e1[0]*e1[0]};") +
			"stencil f (a) { a[i] = g3[0]; } f (u);",
		"growing tables": head + "double t0[1] = {s};" + growing(60) + "stencil f (a) { a[i] = t60[0]; } f (u);",
		"many grids":     head + repeat(20000, "double g%d[9];"),
		"many loops":     head + "stencil f (a) { a[i] = 1; }" + repeat(20000, "iterate 2 { f (u); swap (u, v); }"),
		"cycle":          repeat(5000, "parameter p%[1]d = q%[1]d;") + repeat(5000, "parameter q%[1]d = p%[1]d;"),
		"statements":     head + "stencil f (a) {" + repeat(20000, "a[i] = 1;") + "} f (u);",
	} {
		t.Run(name, func(t *testing.T) {
			var diags diag.List
			work := testing.AllocsPerRun(1, func() { _, diags = Load(diag.NewSource("a.loom", text)) })
			if work > mostAllocations(name)*float64(len(text)) {
				t.Errorf("%.0f allocations for %d bytes", work, len(text))
			}
			if n := len(diags); n > 20100 {
				t.Errorf("%d diagnostics", n)
			}
		})
	}
}

// growing declares tables each of whose entries is twice as large as the one
// before it.
func growing(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "double t%d[1] = {t%d[0] + t%d[0]};", i, i-1, i-1)
	}
	return b.String()
}

// chained declares locals each of which reads the two before it.
func chained(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "double r%d = r%d + r%d;", i+2, i+1, i)
	}
	return b.String()
}
