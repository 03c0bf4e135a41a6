package predict

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// kernelsOf are the kernels of a program on the H200.
func kernelsOf(t testing.TB, name, source string) []*Kernel {
	t.Helper()
	return kernelsOn(t, target.OnPaper(emit.CUDA, h200(t), arith.Contract), name, source)
}

// kernelsOn are the kernels of a program on a target.
func kernelsOn(t testing.TB, on *target.Target, name, source string) []*Kernel {
	t.Helper()
	p, list := lang.Load(diag.NewSource(name, source))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	p.Name = name
	b, list := p.In(arith.Contract).Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	kernels, err := KernelsOf(b, on, schedule.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	return kernels
}

// kernelSpace is the space of a synthetic kernel on the H200.
func kernelSpace(t testing.TB, name string) schedule.Space {
	k, err := synth.FindKernel(name)
	if err != nil {
		t.Fatal(err)
	}
	return kernelsOf(t, name, k.Source([3]int{256, 256, 256}, 1))[0].Space
}

// Candidates are legal, all different, and as many as are wanted.
func TestCandidates(t *testing.T) {
	s := kernelSpace(t, "star-zyx-r2")
	list := Candidates(s, 1000)
	seen, defaults, families := map[string]bool{}, 0, map[string]int{}
	for _, c := range list {
		if err := s.Check(c); err != nil {
			t.Fatal(err)
		}
		if text := c.String(); seen[text] {
			t.Errorf("%s is there twice", text)
		} else {
			seen[text] = true
		}
		families[c.Family]++
		if v, ok := c.Get("store"); ok && v.String() == "plain" {
			defaults++
		}
	}
	if len(list) != 1000 {
		t.Errorf("%d candidates", len(list))
	}
	if defaults < 650 || defaults > 850 {
		t.Errorf("%d of 1000 have the usual stores: some 750 should", defaults)
	}
	if families["tile"] < 200 || families["planes"] < 200 || families["cells"] < 3 {
		t.Errorf("the families are drawn unevenly: %v", families)
	}
	if again := Candidates(s, 100); !slices.EqualFunc(again, list[:100], func(a, b schedule.Config) bool {
		return a.String() == b.String()
	}) {
		t.Error("fewer candidates are others")
	}
}

// Kernels that have other parameters or values have the same candidates, as far as they have their values.
func TestCandidatesAreTheSame(t *testing.T) {
	s := kernelSpace(t, "star-zyx-r2")
	less := s
	less.Families = slices.Clone(s.Families)
	for i := range less.Families {
		f := &less.Families[i]
		f.Params = slices.Clone(f.Params)
		for j := range f.Params {
			if p := &f.Params[j]; p.Name == "block" && len(p.Values) > 20 {
				p.Values = p.Values[:len(p.Values)-10]
			}
		}
	}
	list, fewer := Candidates(s, 300), map[string]bool{}
	for _, c := range Candidates(less, 300) {
		fewer[c.String()] = true
	}
	lost, other := 0, 0
	for _, c := range list[:200] {
		switch {
		case fewer[c.String()]:
		case less.Check(c) == nil:
			other++ // an earlier draw of its number is legal where it lacks a value
		default:
			lost++
		}
	}
	if other > 4 {
		t.Errorf("%d of 200 are legal in both, and candidates of one", other)
	}
	if lost == 0 || lost > 60 {
		t.Errorf("%d of 200 are illegal with fewer blocks: the test compares nothing", lost)
	}
}
