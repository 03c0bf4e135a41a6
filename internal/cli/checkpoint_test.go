package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// A state goes on under the version of the arithmetic that it was computed under, and
// no other, whatever the mode. Those of the first form do not say it.
func TestCheckpointsOfVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.ckpt")
	p, list := lang.Load(diag.NewSource("line.loom",
		"parameter N = 100;\niterator i;\ndouble u[N], v[N];\ncopyin u; copyout v;\n"+
			"stencil s (out, in) { out[i] = in[i+1] + in[i-1]; }\ns (v, u);"))
	if list.HasErrors() {
		t.Fatal(list)
	}
	bound, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	for _, fp := range []string{"strict", "contract", "fast"} {
		c := &runCmd{}
		c.FP, c.State = fp, path
		ck, err := newCheckpoint(c, "cpu", bound)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(version int) string {
			return fmt.Sprintf("--resume %s: the state was computed under arithmetic %d, and this Gridloom has "+
				"arithmetic %d, under which it would not go on to the same bits", path, version, arith.Version)
		}
		for _, x := range []struct {
			format, version int
			want            string
		}{
			{1, 0, refused(1)},
			{2, arith.Version - 1, refused(arith.Version - 1)},
			{2, arith.Version, ""},
			{2, arith.Version + 1, refused(arith.Version + 1)},
			{3, arith.Version, path + ": a checkpoint of format 3, and this program reads formats up to 2"},
		} {
			was := ck.now
			was.Format, was.Arithmetic = x.format, x.version
			if err := gridio.WriteArchive(path, &was, nil); err != nil {
				t.Fatal(err)
			}
			a, _, err := ck.open(path)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				a.Close()
			}
			if got != x.want {
				t.Errorf("%s, format %d, arithmetic %d: %q, want %q", fp, x.format, x.version, got, x.want)
			}
		}
	}
}
