package gridio

import "testing"

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ template, name, index string }{
		{"u_{step}.npy", "u_42.npy", "u.pvd"},
		{"u_{step:06}.vti", "u_000042.vti", "u.pvd"},
		{"out/{step:01}.png", "out/42.png", "out/series.pvd"},
		{"{step}/u-{step:03}.vti", "42/u-042.vti", "{step}/u.pvd"},
		{"u.npy", "u.npy", "u.pvd"},
	} {
		tmpl := Template(c.template)
		if err := tmpl.Check(); err != nil {
			t.Error(err)
		}
		if got := tmpl.Expand(42); got != c.name {
			t.Errorf("%s is %s, want %s", c.template, got, c.name)
		}
		if got := tmpl.Index(); got != c.index {
			t.Errorf("%s has the index %s, want %s", c.template, got, c.index)
		}
		if tmpl.HasStep() != (c.template != "u.npy") {
			t.Errorf("%s: HasStep is %t", c.template, tmpl.HasStep())
		}
	}
	const hint = " (there are {step} and, with zeros in front, {step:06})"
	for template, want := range map[string]string{
		"u_{stop}.npy":    "u_{stop}.npy: {stop} in a file name has no meaning" + hint,
		"u_{step:6}.npy":  "u_{step:6}.npy: {step:6} in a file name has no meaning" + hint,
		"u_{step:099}.np": "u_{step:099}.np: {step:099} in a file name has no meaning" + hint,
		"u_{}.npy":        "u_{}.npy: {} in a file name has no meaning" + hint,
		"u_{step.npy":     "u_{step.npy: a brace in its name is left alone" + hint,
		"u_{{step}}.npy":  "u_{{step}}.npy: a brace in its name is left alone" + hint,
	} {
		if err := Template(template).Check(); errText(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
