package predict

import (
	"bytes"
	"io/fs"
	"path"
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
	list := readAll(t, "recordings/*/*.jsonl.gz")
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

// No model makes the program larger by more than a megabyte.
func TestBuiltinsAreSmall(t *testing.T) {
	files, err := fs.Glob(models, "models/*.gz")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		if data, err := models.ReadFile(name); err != nil || len(data) > 1_000_000 {
			t.Errorf("%s has %d bytes (%v)", name, len(data), err)
		}
	}
}

// The model of processors is what gridloom learn makes of the recordings in the repository, byte for byte: that takes
// seconds.
func TestBuiltinOfProcessors(t *testing.T) {
	list := readAll(t, "recordings-cpu/*/*/*.jsonl.gz")
	made, err := Train(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := made.Write(&file); err != nil {
		t.Fatal(err)
	}
	if kept, err := models.ReadFile("models/processors.json.gz"); err != nil || !bytes.Equal(kept, file.Bytes()) {
		t.Errorf("the model has %d bytes, and the recordings make %d others: make models makes it anew (%v)", len(kept),
			file.Len(), err)
	}
	if made.Training.Groups < 90 || len(made.Processors) < 3 {
		t.Errorf("it was made of %+v on %q", made.Training, made.Processors)
	}
	// Of any machine it tells something, and knows which it has seen.
	seen, other := session.Device{API: session.CPU, Name: list[0].DeviceName, Units: 2},
		session.Device{API: session.CPU, Name: "another", Units: 8}
	m, err := Builtin(&other)
	if err != nil || m == nil || m.Knows(&other) || !m.Knows(&seen) {
		t.Errorf("%v, %v", m, err)
	}
	if e := m.Expected(); !(0.8 < e.Mean && e.Low < e.Mean && e.Mean < e.High && e.High <= 1) {
		t.Errorf("picks are expected to have %+v", e)
	}
}

// The file of a model is found by the name of its device, and no other is read for it.
func TestBuiltinFiles(t *testing.T) {
	names, err := fs.Glob(models, "models/*.json.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		m, err := readBuiltin(path.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		d := &session.Device{API: m.API, Name: m.Device}
		if got := fileOf(d); got != path.Base(name) {
			t.Errorf("the model of %s is looked for in %s, and is %s", m.Device, got, name)
		}
		if got, err := Builtin(d); err != nil || got == nil || got.Training != m.Training {
			t.Errorf("%s has another model: %v", m.Device, err)
		}
		if got, err := Builtin(&session.Device{API: "opencl", Name: m.Device}); got != nil || err != nil {
			t.Errorf("%s has a model for opencl: %v", m.Device, err)
		}
	}
	for _, d := range []session.Device{
		{API: "opencl", Name: "NVIDIA H200"}, {API: "cuda"}, {API: "cuda", Name: "../models/nvidia h200/"},
	} {
		if m, err := Builtin(&d); m != nil || err != nil {
			t.Errorf("%+v has a model: %v", d, err)
		}
	}
}
