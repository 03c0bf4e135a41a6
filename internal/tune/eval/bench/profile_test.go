package bench

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// The plans of all cases fit an H200 at their sizes.
func TestProfileCases(t *testing.T) {
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ProfileCases {
		src, err := c.Source(examples.FS)
		if err != nil {
			t.Fatal(err)
		}
		p, list := lang.Load(src)
		if list.HasErrors() {
			t.Fatal(list)
		}
		var names []string
		for _, q := range p.Params {
			names = append(names, q.Name)
		}
		b, list := p.In(arith.Contract).Bind(c.Set(names))
		if list.HasErrors() {
			t.Fatalf("%s: %v", c, list)
		}
		plan, err := schedule.ParsePlan(c.Plan)
		if err == nil {
			_, err = lower.Program(b.Program, target.OnPaper(emit.CUDA, m, arith.Contract).Lowering(b, plan))
		}
		if err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// Rows are kept in the order of the cases, one for each, and say how often both ways to tell a class agree.
func TestProfileRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	row := func(c ProfileCase, class profile.Class, h *counters.Counters) ProfileRow {
		k := &profile.Kernel{Name: "step", Class: class, Variants: []profile.Variant{
			{Without: "dram", Share: 0.4}, {Without: "shared", Absent: "none"},
		}}
		if h != nil {
			k.Counters = &profile.Hardware{Counters: *h, Class: profile.BoundByDRAM}
		}
		return NewProfileRow(c, &profile.Profile{Plan: "full", Kernels: []*profile.Kernel{k}}, 2, "abc")
	}
	last := row(ProfileCases[2], profile.ComputeBound, &counters.Counters{DRAM: 91})
	first := row(ProfileCases[0], profile.BoundByDRAM, &counters.Counters{DRAM: 91})
	for _, r := range []ProfileRow{last, row(ProfileCases[0], profile.LatencyBound, nil), first} {
		if err := MergeProfile(path, r); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := ReadProfiles(path)
	if err != nil || len(rows) != 2 || rows[0].Key() != first.Key() || rows[1].Key() != last.Key() ||
		!*rows[0].Kernels[0].Agree || *rows[1].Kernels[0].Agree {
		t.Fatalf("%+v, %v", rows, err)
	}
	if r := rows[1]; !r.Of(ProfileCases[2], "abc") || r.Of(ProfileCases[2], "abd") || r.Of(ProfileCases[0], "abc") {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	WriteProfiles(&b, rows)
	for _, text := range []string{"1 of 2 kernels have the same class", "dram 40", "same", "differs", "dram 91"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %q in\n%s", text, b.String())
		}
	}
	if strings.Contains(b.String(), "shared 0") {
		t.Errorf("a variant that there is not has a share:\n%s", b.String())
	}
}
