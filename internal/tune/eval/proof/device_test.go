package proof

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// given reads examples.
func given(t *testing.T, names ...string) (list []*diag.Source) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, diag.NewSource(name, string(text)))
	}
	return list
}

// Plans of examples are right on a device: the pretended GPU, and PoCL.
func TestDevices(t *testing.T) {
	for _, device := range []string{"cuda:0", "opencl:0"} {
		t.Run(device, func(t *testing.T) {
			o := DeviceOptions{Device: device, Sources: given(t, "heat3d.loom", "redblack.loom"), Plans: 2, Seed: 1,
				Workers: 2}
			r, err := Device(context.Background(), o)
			if err != nil && strings.HasPrefix(device, "opencl") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Failures {
				t.Error(f.String())
			}
			if r.Programs != 2 || r.Plans != 4 || r.Runs < 4 || r.Strict == 0 || r.Cells == 0 ||
				len(r.Families.Values) == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A device that reads a neighbour's cell is found.
func TestAWrongDeviceIsFound(t *testing.T) {
	p := &deviceProver{DeviceOptions: DeviceOptions{Device: "cuda:0", Sources: given(t, "heat3d.loom"), Plans: 3,
		Seed: 1, Workers: 2}}
	p.spoil = func(source string) string { return strings.ReplaceAll(source, " + 1]", " + 0]") }
	r, err := p.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) == 0 {
		t.Fatal("the proof holds although the compiler is wrong")
	}
	for _, f := range r.Failures {
		if f.Program != "heat3d.loom" || len(f.Set) == 0 || !strings.Contains(f.Plan, "family=") {
			t.Error(f.String())
		}
	}
}

func TestDeviceErrors(t *testing.T) {
	for device, want := range map[string]string{
		"cuda:99": "--device cuda:99: the driver shows 1 GPU, from cuda:0 on",
		"gpu":     "--device gpu: there is no device gpu",
	} {
		if _, err := Device(context.Background(), DeviceOptions{Device: device}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", device, err, want)
		}
	}
}
