package target

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// A text names a device of one kind, or the error says what may have been meant.
func TestParse(t *testing.T) {
	for _, c := range []struct{ text, id, hint string }{
		{"cpu", "cpu", ""}, {"ref", "ref", ""}, {"cuda", "cuda:0", ""}, {"cuda:3", "cuda:3", ""},
		{"opencl:12", "opencl:12", ""},
		{"cpu:0", "", "did you mean cpu?"}, {"cuda:", "", "did you mean cuda:0?"},
		{"cuda:-1", "", "did you mean cuda:0?"},
		{"cuda:1x", "", "did you mean cuda:0?"}, {"opnecl", "", "did you mean opencl?"},
		{"", "", "gridloom devices lists what there is"},
		{"auot", "", "did you mean auto?"}, {"99", "", "gridloom devices lists what there is"},
	} {
		k, ordinal, err := Parse(c.text)
		if unknown, ok := errors.AsType[*Unknown](err); ok {
			if c.id != "" || unknown.Hint() != c.hint || !strings.HasSuffix(err.Error(), c.text) {
				t.Errorf("%q: %v (%s), want %q (%s)", c.text, err, unknown.Hint(), c.id, c.hint)
			}
			continue
		}
		if err != nil || k.ID(ordinal) != c.id {
			t.Errorf("%q: %s %v, want %q", c.text, k.ID(ordinal), err, c.id)
		}
	}
	if k, _, err := Parse("auto"); err != nil || k.Name != "cpu" && k.Name != "cuda" {
		t.Errorf("auto is %v, %v", k, err)
	}
}

// Every kind says all that others ask it for, and no two have a name.
func TestKinds(t *testing.T) {
	var names []string
	for _, k := range kinds {
		if k.Describe == nil || k.Find == nil || k.Open == nil || k.Name == "" || slices.Contains(names, k.Name) {
			t.Errorf("the kind %q is not whole, or there twice", k.Name)
		}
		names = append(names, k.Name)
		if got, ok := k.ParseID(k.ID(0)); !ok || got != 0 {
			t.Errorf("%s does not parse back: %d %v", k.ID(0), got, ok)
		}
	}
	if got := Names(); !slices.Equal(got[1:], names) {
		t.Errorf("%v, want %v", got, names)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	list, err := Describe(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(list,
			func(d device.Info) bool { return strings.HasPrefix(d.ID, name) && d.Name != "" }) {
			t.Errorf("nothing is said of %s", name)
		}
	}
}

// A target has one compiler in all its modes of arithmetic, and finds it again after Close.
func TestCompile(t *testing.T) {
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	cpu, err := Open("cpu", Options{Arithmetic: arith.Strict, CompilerOptions: device.CompilerOptions{Cache: cache}})
	if err != nil {
		t.Fatal(err)
	}
	defer cpu.Close()
	if cpu.Reference() || cpu.Kind() != lower.CPU || cpu.ID != "cpu" || cpu.API != "cpu" || cpu.Name == "" ||
		!cpu.Shared || cpu.Memory != 0 {
		t.Errorf("%+v", cpu)
	}
	fast := cpu.In(arith.Fast)
	first, err := cpu.Compiler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := fast.Compiler(t.Context()); err != nil || c != first || fast.Arithmetic != arith.Fast ||
		cpu.Arithmetic != arith.Strict {
		t.Errorf("%v, %v and %v: %v", c, first, fast.Arithmetic, err)
	}
	const text = "double f(double a, double b) { return a + b; }\n"
	var paths []string
	for _, at := range []*Target{cpu, fast} {
		b, err := at.Compile(t.Context(), text)
		if err != nil || b.Cached {
			t.Fatalf("%+v %v", b, err)
		}
		paths = append(paths, b.Path)
	}
	if paths[0] == paths[1] {
		t.Error("strict and fast have one code")
	}
	cpu.Close()
	if b, err := cpu.Compile(t.Context(), text); err != nil || !b.Cached || b.Path != paths[0] {
		t.Errorf("%+v %v", b, err)
	}
}

// The reference executor is a target without kernels.
func TestReference(t *testing.T) {
	ref, err := Open("ref", Options{})
	if err != nil || !ref.Reference() {
		t.Fatal(ref, err)
	}
	defer ref.Close()
	if fused, err := ref.Fused(t.Context()); !fused || err != nil {
		t.Errorf("%v %v", fused, err)
	}
	if _, err := Connect("ref", device.OpenOptions{}); err == nil {
		t.Error("a worker opens the reference executor")
	}
	if _, err := Connect("abacus", device.OpenOptions{}); err == nil || err.Error() != "there is no device abacus" {
		t.Error(err)
	}
}
