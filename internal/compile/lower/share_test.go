package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Calls whose kernels come out alike launch one kernel, with their own grids.
func TestSharedKernels(t *testing.T) {
	const head = "parameter M = 6, N = 7;\niterator j, i;\ndouble u[M,N], v[M,N], w[M,N], a = 2, b = 3, r, s;\n"
	const smooth = "stencil smooth (out, in) { out[j][i] = 0.5*(in[j][i+1] + in[j][i-1]); }\n"
	for _, c := range []struct {
		name, text string
		want       string // kernels, and what each call launches
	}{
		{"ping-pong", smooth + "smooth (v, u); smooth (u, v);",
			"smooth | smooth: smooth(v u) | smooth.2: smooth(u v)"},
		{"three grids", smooth + "smooth (v, u); smooth (w, v); smooth (u, w); smooth (v, u);",
			"smooth | smooth: smooth(v u) | smooth.2: smooth(w v) | smooth.3: smooth(u w)"},
		{"another domain", smooth + "smooth (v, u); [1:3, 1:4] : smooth (v, u);",
			"smooth smooth_2 | smooth: smooth(v u) | smooth.2: smooth_2(v u)"},
		{"unlike boundaries", "boundary u : clamp;\n" + smooth + "smooth (v, u); smooth (u, v);",
			"smooth smooth_2 | smooth: smooth(v u) | smooth.2: smooth_2(u v)"},
		{"scalars that differ", "stencil scale (out, in, c) { out[j][i] = c*in[j][i]; }\n" +
			"scale (v, u, a); scale (u, v, b); scale (w, v, a);",
			"scale scale_2 | scale: scale(v u) | scale.2: scale_2(u v) | scale.3: scale(w v)"},
		{"two stencils of one body", smooth +
			"stencil blur (out, in) { out[j][i] = 0.5*(in[j][i+1] + in[j][i-1]); }\nsmooth (v, u); blur (w, v);",
			"smooth | smooth: smooth(v u) | blur: smooth(w v)"},
		{"reductions", "stencil norm (x, r) { reduce sum r = x[j][i]; }\nnorm (u, r); norm (v, r); norm (w, s);",
			"norm norm_sum norm_2 norm_sum_2 | norm: norm(u norm_r_parts) norm_sum(norm_r_parts r) | " +
				"norm.2: norm(v norm.2_r_parts) norm_sum(norm.2_r_parts r) | " +
				"norm.3: norm_2(w norm.3_s_parts) norm_sum_2(norm.3_s_parts s)"},
	} {
		m, err := lowered(load(t, "shared", head+c.text), lower.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var all []string
		for _, k := range m.Kernels {
			all = append(all, k.Name)
		}
		parts := []string{strings.Join(all, " ")}
		for _, s := range m.Program.Calls {
			parts = append(parts, launches(m, s))
		}
		if got := strings.Join(parts, " | "); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

// launches prints a call's launches, each with the memory that it works on.
func launches(m *kernel.Module, s *ir.Call) string {
	text := s.Name + ":"
	for _, l := range m.Calls[s] {
		var memory []string
		for _, a := range l.Args[:len(l.Kernel.Buffers)] {
			arg := argText(m, a)
			memory = append(memory, arg[strings.LastIndex(arg, " ")+1:])
		}
		text += fmt.Sprintf(" %s(%s)", l.Kernel.Name, strings.Join(memory, " "))
	}
	return text
}
