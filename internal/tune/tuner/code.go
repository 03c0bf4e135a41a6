package tuner

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// keyOf returns a text that is equal for variants with the same code. It is kept with what was measured: what is
// printed here must not change, unless code does that is measured. So it has how rows lie, and nothing else of them.
func keyOf[L any](source string, launches []L, rows []device.Rows) string {
	type lie struct{ lead, bytes, pitch, count int64 }
	var list []lie
	for _, r := range rows {
		list = append(list, lie{r.Lead, r.Bytes, r.Pitch, r.Count})
	}
	return toolchain.Digest(source, fmt.Sprint(launches, list))
}

// rowsOf returns how rows lie, and where they begin.
func rowsOf(script *exec.Script) (rows []device.Rows, phases []int64) {
	for _, g := range script.Grids {
		rows = append(rows, g.Rows)
		phases = append(phases, g.Phase)
	}
	return rows, phases
}

// Code returns the hash of what a search compiles for a kernel of a plan, the only one of its call: that of its trials
// (Outcome.Code). Nothing is compiled.
func Code(b *ir.Binding, call *ir.Call, t *target.Target, k schedule.Kernel) (h session.Code, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the plan breaks the compiler: %v", r)
		}
	}()
	o := t.Lowering(b, schedule.Plan{Kernels: []schedule.Kernel{k}})
	o.Bound = Alone(b, call)
	m, err := lower.Program(o.Bound.Program, o)
	if err != nil {
		return 0, err
	}
	if err := t.Cannot(m); err != nil {
		return 0, err
	}
	script, err := exec.NewScript(m, o.Bound)
	if err != nil {
		return 0, err
	}
	if len(script.Calls) != 1 {
		return 0, fmt.Errorf("call %s has become %d", call.Name, len(script.Calls))
	}
	rows, _ := rowsOf(script)
	return session.CodeOf(keyOf(emit.Source(t.Dialect, m), script.Calls[0].Launches, rows))
}
