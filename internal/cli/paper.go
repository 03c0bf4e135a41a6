package cli

import (
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/target"
)

// version reads a program in an arithmetic, in the version that a plan names, and binds it to its sizes. It is for
// commands that look at kernels and run none.
func (a *app) version(file, fp, planText string, set []string) (*engine.Version, *ir.Binding, error) {
	mode, err := arith.Parse(fp)
	if err != nil {
		return nil, nil, misuse("--fp", err)
	}
	src, p, err := a.load(file, mode)
	if err != nil {
		return nil, nil, err
	}
	plan, err := readPlan(planText)
	if err != nil {
		return nil, nil, err
	}
	v, err := engine.VersionOf(src, p, plan)
	if err != nil {
		return nil, nil, err
	}
	a.src = v.Source
	b, err := a.bind(v.Source, v.Program, set)
	return v, b, err
}

// usualMachine is what kernels are made for if nobody says otherwise.
const usualMachine = "h200"

// paperTarget is the target of a device of this host, or else of a machine that need not be here, whose kernels are
// written in a language if it is a GPU. Nothing is run on it.
func paperTarget(device, name, language string, mode arith.Mode) (*target.Target, error) {
	if device != "" {
		d, err := engine.Open(engine.DeviceRequest{ID: device, Arithmetic: mode})
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if d.Reference() {
			return nil, usage("--device %s: the reference executor has no kernels", device)
		}
		return d.Target, nil
	}
	if name == "" {
		name = usualMachine
	}
	m, err := readMachine(name)
	if err != nil {
		return nil, err
	}
	dialect := engine.Dialects["c"]
	if m.Kind != machine.KindCPU {
		if dialect = engine.Dialects[language]; m.Dialect(language) == nil {
			return nil, usage("--target %s: %s is not programmed in it", language, m.Name)
		}
	}
	return target.OnPaper(dialect, m, mode), nil
}
