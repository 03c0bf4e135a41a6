package bench

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/target"
)

// TemporalSources writes the CUDA of the plans of all rows that the options name into a folder, as it is for an
// H200, and logs the files' names. It needs no GPU.
func TemporalSources(o TemporalOptions, folder string) error {
	m, err := machine.Builtin("h200")
	if err != nil {
		return err
	}
	d := &temporalDevice{TemporalOptions: o, target: target.OnPaper(emit.CUDA, m, arith.Contract)}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, w := range o.wanted() {
		b, err := w.bind(w.set)
		if err != nil {
			return err
		}
		for as, plans := range [][]string{ofSeveral: w.plans, withoutEdges: w.bare} {
			for n, text := range plans {
				module, err := d.lower(b, text, role(as))
				if err != nil {
					return fmt.Errorf("%v, %s: %w", w.temporalCase, text, err)
				}
				name := fmt.Sprintf("%s-%s-%s-%d.cu", w.name, w.dtype, map[role]string{
					ofSeveral: "plan", withoutEdges: "bare",
				}[role(as)], n+1)
				source := fmt.Sprintf("// %s\n%s", text, emit.Source(emit.CUDA, module))
				if err := disk.Replace(filepath.Join(folder, name), []byte(source), 0o644, false); err != nil {
					return err
				}
				fmt.Fprintf(o.Log, "%s: %s\n", name, text)
			}
		}
	}
	return nil
}
