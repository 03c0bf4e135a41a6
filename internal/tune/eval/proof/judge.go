package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/device/opencl/oclgrind"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// JudgeFault is a mistake of a checker, not of a kernel.
type JudgeFault struct {
	Seed   uint64            `json:"seed"`
	Kind   string            `json:"kind"` // "crash" or "differs"
	Mode   string            `json:"fp,omitempty"`
	Plan   string            `json:"plan,omitempty"`
	Set    map[string]string `json:"set,omitempty"`
	Said   string            `json:"said"`
	Source string            `json:"source,omitempty"`
	Also   []Sighting        `json:"also,omitempty"` // what was seen of it at other sizes, or by another method
}

// Sighting is another occurrence of a JudgeFault with the same program.
type Sighting struct {
	Kind string            `json:"kind"`
	Set  map[string]string `json:"set,omitempty"`
	Said string            `json:"said"`
}

// eachOnce adds faults to a list with one fault for each program and plan.
func eachOnce(list []JudgeFault, more ...JudgeFault) []JudgeFault {
	for _, f := range more {
		i := slices.IndexFunc(list, func(x JudgeFault) bool { return x.Seed == f.Seed && x.Plan == f.Plan })
		if i < 0 {
			list = append(list, f)
			continue
		}
		x := &list[i]
		x.Also = slices.Clip(x.Also)
		for _, s := range append([]Sighting{{f.Kind, f.Set, f.Said}}, f.Also...) {
			same := func(o Sighting) bool { return reflect.DeepEqual(o, s) }
			if !same(Sighting{x.Kind, x.Set, x.Said}) && !slices.ContainsFunc(x.Also, same) {
				x.Also = append(x.Also, s)
			}
		}
	}
	return list
}

const (
	kindCrash   = "crash"
	kindDiffers = "differs"
)

// judgedRun is a pair at some sizes that the simulator found right.
type judgedRun struct {
	pair   *pair
	sizes  sizes
	module *kernel.Module
	want   *expected
}

// judgeSet holds the checkers of OpenCL code; nil for one that is not installed.
type judgeSet struct {
	// pocl runs the program by one of PoCL's methods; fits is false if it cannot run it.
	pocl func(ctx context.Context, method string, t *judgedRun) (fits bool, reason string, err error)
	// check runs every kernel by itself under Oclgrind, on random data.
	check func(ctx context.Context, t *judgedRun) error
	// oclgrind runs the whole program under Oclgrind.
	oclgrind func(ctx context.Context, t *judgedRun) (fits bool, reason string, err error)
}

// judge runs a program on PoCL and under Oclgrind, and returns what is wrong with it. With check,
// which is set at small sizes, Oclgrind first runs every kernel by itself.
//
// PoCL is at fault, and not the program, if it computes something else or crashes, and Oclgrind, at the same sizes
// and in limited time, finds nothing wrong with any kernel nor with the whole program, whose results are right in
// every cell. Oclgrind is at fault if a signal ends it, and PoCL has run the whole program with every cell right.
// Anything else that goes wrong is a failure of the program.
func (j *judgeSet) judge(ctx context.Context, t *judgedRun, check bool, v *pairResult) finding {
	crash := ""
	if j.check != nil && check {
		err := j.check(ctx, t)
		switch {
		case crashed(err):
			crash = err.Error()
		case err != nil:
			return finding{byOclgrind, fmt.Sprintf("Oclgrind: %v", err)}
		default:
			v.oclgrind++
		}
	}
	right := 0
	if j.pocl != nil {
		for _, method := range methods {
			if method == replicated && t.pair.threads()*int64(len(moduleText(t.module))) > mostReplicated {
				continue
			}
			fits, reason, err := j.pocl(ctx, method, t)
			if err != nil && strings.Contains(err.Error(), tookLonger) {
				v.slow++
				continue
			}
			kind := kindDiffers
			if err != nil {
				reason = err.Error()
				if kind = kindCrash; !crashed(err) {
					kind = ""
				}
			}
			if reason != "" {
				said := fmt.Sprintf("PoCL, %s: %s", method, reason)
				if kind == "" || crash != "" || !j.clears(ctx, t) {
					return finding{byPoCL, said}
				}
				v.poclFaults = eachOnce(v.poclFaults, t.fault(kind, said))
			} else if fits {
				v.pocl++
				right++
			}
		}
	}
	if crash == "" {
		return finding{}
	}
	said := "Oclgrind: " + crash
	if right == 0 {
		return finding{byOclgrind, said}
	}
	v.oclgrindCrashes = eachOnce(v.oclgrindCrashes, t.fault(kindCrash, said))
	return finding{}
}

// finding is what is wrong with a program; the zero value is nothing.
type finding struct {
	by   string // the cross-check that found it; "" is the simulator
	said string
}

// The cross-checks that find failures.
const (
	byPoCL     = "pocl"
	byOclgrind = "oclgrind"
)

// UnmarshalJSON also reads failures of earlier versions, which said who found them at the beginning of the reason.
func (f *Failure) UnmarshalJSON(text []byte) error {
	type plain Failure
	if err := json.Unmarshal(text, (*plain)(f)); err != nil {
		return err
	}
	switch {
	case f.By != "":
	case strings.HasPrefix(f.Reason, "PoCL,"):
		f.By = byPoCL
	case strings.HasPrefix(f.Reason, "Oclgrind:"):
		f.By = byOclgrind
	}
	return nil
}

// clears reports whether Oclgrind finds nothing wrong with a program and computes the right numbers.
func (j *judgeSet) clears(ctx context.Context, t *judgedRun) bool {
	if j.check == nil || j.oclgrind == nil || j.check(ctx, t) != nil {
		return false
	}
	fits, reason, err := j.oclgrind(ctx, t)
	return fits && reason == "" && err == nil
}

func (t *judgedRun) fault(kind, said string) JudgeFault {
	f := t.pair.failure(t.sizes.set, said)
	return JudgeFault{Seed: f.Seed, Kind: kind, Mode: f.Mode, Plan: f.Plan, Set: f.Set, Said: f.Reason,
		Source: f.Source}
}

// crashed reports whether a signal ended the process that ran a module.
func crashed(err error) bool {
	var death *worker.Death
	return errors.As(err, &death) && death.Signal != 0 && death.Reason == nil
}

const (
	checkLimit = 2 * time.Minute // of Oclgrind, for a kernel
	runLimit   = 5 * time.Minute // of Oclgrind, for a whole program
)

// checkKernels runs every kernel by itself under Oclgrind.
func (cc *crossCheckers) checkKernels(ctx context.Context, t *judgedRun) error {
	return oclgrind.CheckModule(ctx, t.module, t.sizes.bound, t.pair.seed, checkLimit)
}

// onOclgrind runs a program under Oclgrind as on any device, and checks the results and its reports.
func (cc *crossCheckers) onOclgrind(ctx context.Context, t *judgedRun) (fits bool, reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	s, err := oclgrind.NewSession()
	if err != nil {
		return false, "", err
	}
	defer s.Close()
	cc.mu.Lock()
	defer cc.mu.Unlock()
	at, err := cc.openCL(ctx, oclgrindCode)
	if err != nil {
		return false, "", err
	}
	defer at.Close()
	at.worker, at.launch = opencl.ID(0), checkLimit // Oclgrind is the only driver there
	defer setenv(s.Env())()
	fits, reason, err = runOn(ctx, at, t.module, t.sizes.bound, t.pair.mode, t.want, 0)
	if err != nil || reason != "" {
		return fits, reason, err
	}
	faults, err := s.Faults()
	if len(faults) > 0 {
		reason = faults[0].String()
	}
	return fits, reason, err
}

// openCL opens PoCL, with the code cache of a purpose. It opens the compiler too, while the environment still names
// PoCL: a worker process has the environment of the moment at which it starts.
func (cc *crossCheckers) openCL(ctx context.Context, purpose string) (*place, error) {
	t, err := target.Open(cc.device, target.Options{
		CompilerOptions: device.CompilerOptions{Cache: cc.cache[purpose], Workers: 1, Limit: buildLimit},
	})
	if err != nil {
		return nil, err
	}
	_, err = t.Compiler(ctx)
	return &place{Target: t, worker: t.ID, launch: launchLimit}, err
}

// onPoCL runs a program on PoCL.
func (cc *crossCheckers) onPoCL(ctx context.Context, method string,
	t *judgedRun) (fits bool, reason string, err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	at, err := cc.openCL(ctx, method)
	if err != nil {
		return false, "", err
	}
	defer at.Close()
	// PoCL keeps what it has compiled, and here it should not.
	defer setenv([]string{"POCL_WORK_GROUP_METHOD=" + method, "POCL_CACHE_DIR=" + filepath.Join(cc.dir.Path, method,
		"pocl")})()
	return runOn(ctx, at, t.module, t.sizes.bound, t.pair.mode, t.want, 0)
}

// setenv sets environment variables, and returns a function that restores them.
func setenv(list []string) (restore func()) {
	var back []func()
	for _, e := range list {
		name, value, _ := strings.Cut(e, "=")
		if old, was := os.LookupEnv(name); was {
			back = append(back, func() { os.Setenv(name, old) })
		} else {
			back = append(back, func() { os.Unsetenv(name) })
		}
		os.Setenv(name, value)
	}
	return func() {
		for _, f := range back {
			f()
		}
	}
}

// Again judges the failures of an earlier proof again that PoCL or Oclgrind found, at their sizes, and returns how
// many there were. Failures that turn out to be faults of a checker are moved to the faults.
func (r *GPUResult) Again(ctx context.Context) (int, error) {
	cc, err := newCrossCheckers()
	if err != nil {
		return 0, err
	}
	defer cc.close()
	return r.again(ctx, cc)
}

func (r *GPUResult) again(ctx context.Context, cc *crossCheckers) (judged int, err error) {
	left := []Failure{}
	for _, f := range r.Failures {
		if f.By == "" {
			left = append(left, f)
			continue
		}
		p, s, err := f.pair()
		if err != nil {
			return judged, fmt.Errorf("seed %d: %w", f.Seed, err)
		}
		judged++
		v := &pairResult{}
		found := finding{said: p.simulate(ctx, s, &pairResult{})} // already counted when it failed
		if found.said == "" {
			found = cc.check(ctx, p, s, f.By == byOclgrind, v)
		}
		if ctx.Err() != nil {
			return judged, ctx.Err()
		}
		if found.said != "" || v.pocl+v.oclgrind+len(v.poclFaults)+len(v.oclgrindCrashes) == 0 { // no checker ran
			if found.said != "" {
				f.By, f.Reason = found.by, found.said
			}
			left = append(left, f)
			continue
		}
		v.addTo(r)
		r.Pairs-- // already counted
	}
	r.Failures = left
	return judged, nil
}

// UnmarshalJSON also reads results of versions that recorded only PoCL's crashes, as pocl_crashes.
func (r *GPUResult) UnmarshalJSON(text []byte) error {
	type plain GPUResult
	all := struct {
		*plain
		Crashes []JudgeFault `json:"pocl_crashes"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, c := range all.Crashes {
		c.Kind = kindCrash
		r.PoCLFaults = append(r.PoCLFaults, c)
	}
	r.PoCLFaults, r.OclgrindCrashes = eachOnce(nil, r.PoCLFaults...), eachOnce(nil, r.OclgrindCrashes...)
	return nil
}
