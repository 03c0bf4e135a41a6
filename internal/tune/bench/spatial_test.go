package bench

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
)

// The suite on a pretended GPU: everything but the figures is as on a real one.
func TestSpatial(t *testing.T) {
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("no C++ compiler")
	}
	remove, err := cudatest.Install()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	t.Run("sweep", testSweep)
}

func smallSpatial() SpatialOptions {
	return SpatialOptions{
		Set:     map[string]string{"L": "9", "M": "12", "N": "75"},
		Batches: 5, Batch: time.Microsecond, Jobs: 2, Commit: "abc", Log: io.Discard,
	}
}

func testSweep(t *testing.T) {
	o := smallSpatial()
	o.Cases, o.DTypes = []string{"star7"}, []string{"float"}
	o.Plans = []string{"family=cells,block=8x32", "family=cells,block=16x16", "family=cells,block=7x7", "family=cells"}
	var log strings.Builder
	o.Log = &log
	rows, err := Sweep(context.Background(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if len(rows) != 4 {
		t.Fatalf("%+v", rows)
	}
	var refused []string
	for _, r := range rows {
		if r.Refused != "" {
			refused = append(refused, r.Plan+": "+r.Refused)
			continue
		}
		if r.Case != "star7" || r.DType != "float" || r.Grid != "9x12x75" || !r.Final || r.Batches != 5 || r.Registers != 32 ||
			!(r.GStencils > 0 && r.Interval[0] <= r.Interval[1] && r.CopyGBs == max(r.CopyDriverGBs, r.CopyKernelGBs)) ||
			math.Abs(r.FractionOfCopy*r.CopyGBs-r.GStencils*8) > 1e-9*r.CopyGBs || r.CellsChecked != 9*12*75 || r.CompileSeconds <= 0 ||
			!slices.Equal(r.Launched, []string{"star7"}) || r.Device != "Pretended GPU" || r.Commit != "abc" {
			t.Errorf("%+v", r)
		}
	}
	slices.Sort(refused)
	if len(refused) != 2 || !strings.HasPrefix(refused[0], "family=cells,block=7x7: plan: ") || !strings.HasSuffix(refused[1], "plan: the code of family=cells,block=8x32") {
		t.Errorf("%q", refused)
	}
	if _, err := json.Marshal(rows); err != nil {
		t.Error(err)
	}
}
