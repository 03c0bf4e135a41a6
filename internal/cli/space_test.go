package cli

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// A search on a device has the space that is shown for it, and that plans for it
// are taken from; on OpenCL with shared memory.
func TestSpaceOfTuning(t *testing.T) {
	text, err := examples.FS.ReadFile("heat3d.loom")
	if err != nil {
		t.Fatal(err)
	}
	p, errs := lang.Load(diag.NewSource("heat3d.loom", string(text)))
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	b, errs := p.Bind(nil)
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	d, err := engine.Open(engine.DeviceRequest{ID: "opencl:0", Purpose: engine.ToTune})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lab, err := measure.Open(t.Context(), d.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	shown := d.Lowering(b, schedule.Plan{})
	searched := shown
	searched.Machine, searched.Lacks = lab.About().Target.Machine, lab.About().Target.Lacks
	list := func(o lower.Options) schedule.Space {
		choices, err := lower.Choices(p, o)
		if err != nil {
			t.Fatal(err)
		}
		return choices[0].Space
	}
	a, c := list(shown), list(searched)
	if a.Count().Cmp(c.Count()) != 0 || *shown.Machine.GPU != *searched.Machine.GPU {
		t.Errorf("%v configurations are shown, %v searched; %+v, %+v",
			a.Count(), c.Count(), shown.Machine.GPU, searched.Machine.GPU)
	}
	want := schedule.Numbers(0, 1, 2, 3)
	if v := c.Family("planes").Param("stages").Values; !slices.EqualFunc(v, want, schedule.Value.Equal) {
		t.Errorf("stages is one of %v", v)
	}
	if v := c.Family("tile").Param("shuffle").Values; !slices.EqualFunc(v, schedule.Words("no"), schedule.Value.Equal) {
		t.Errorf("shuffle is one of %v", v)
	}
	if gpu := searched.Machine.GPU; gpu.SharedPerBlock <= 0 || gpu.ThreadsPerBlock <= 0 {
		t.Errorf("the device's limits are %+v", gpu)
	}
}
