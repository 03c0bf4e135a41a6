package predict

import (
	"testing"

	"github.com/gridloom/gridloom/internal/tune/session"
)

// The model of the H200 is there, can be used, and was made of the recordings in the repository: gridloom learn makes
// the same file of them, which takes minutes (make models).
func TestBuiltin(t *testing.T) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	list := readAll(t)
	all := make([]*Examples, len(list))
	groups := map[string]bool{}
	for i, r := range list {
		all[i] = &Examples{Recorded: r, Stencil: r.Group()}
		groups[all[i].Stencil] = true
	}
	if got := training(all, len(groups)); got != m.Training {
		t.Errorf("the model was made of %+v, and the recordings are %+v: make models makes it anew", m.Training, got)
	}
	// Learning leaves out what today's compiler makes otherwise: where that is much, recordings are to be made anew.
	asked, changed := 0, 0
	for i := 0; i < len(list); i += 4 {
		asked++
		if r := list[i]; r.changed(&r.Trials[len(r.Trials)/3]) {
			changed++
			t.Logf("%s: another kernel is made of %s", r.Name, r.Trials[len(r.Trials)/3].Config)
		}
	}
	if asked < 20 || 10*changed > asked {
		t.Errorf("today's compiler makes other kernels of %d of %d recorded trials", changed, asked)
	}
	if e := m.Expected(); !(0 < e.Low && e.Low < e.Mean && e.Mean < e.High && e.High <= 1) {
		t.Errorf("picks are expected to have %+v", e)
	}
	if other, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA A100"}); other != nil || err != nil {
		t.Errorf("another device has a model: %v", err)
	}
}
