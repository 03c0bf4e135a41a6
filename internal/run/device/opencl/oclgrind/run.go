package oclgrind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Job is one launch of one kernel.
type Job struct {
	Source   string // OpenCL C
	Kernel   string
	Geometry kernel.Geometry
	Args     []Arg
}

// Arg is an argument: memory of so many bytes, or a value if there are none.
type Arg struct {
	Bytes int64
	Data  []byte  // what the memory holds before; nil if nothing has written it
	Value [8]byte // as device.Value has it
}

// places are where packages put Oclgrind's driver; GRIDLOOM_OCLGRIND names it
// instead.
var places = []string{
	"/usr/lib/oclgrind/liboclgrind-rt-icd.so",
	"/usr/lib/x86_64-linux-gnu/oclgrind/liboclgrind-rt-icd.so",
	"/usr/local/lib/oclgrind/liboclgrind-rt-icd.so",
	"/usr/local/lib/liboclgrind-rt-icd.so",
}

// Find returns the path of Oclgrind's driver.
func Find() (string, error) {
	if named := os.Getenv("GRIDLOOM_OCLGRIND"); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("oclgrind was not found: %w (named by GRIDLOOM_OCLGRIND)", err)
		}
		return named, nil
	}
	for _, path := range places {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf(
		"oclgrind was not found (install it, on Debian and Ubuntu with: apt-get install oclgrind; or name its " +
			"liboclgrind-rt-icd.so with GRIDLOOM_OCLGRIND)")
}

// Run carries a job out in a worker process, which has to have the Service.
// What the kernel does wrong is in the report; the error says that it could not
// be run. A job takes at most limit; 0 is no limit.
func Run(ctx context.Context, j Job, limit time.Duration) (*Report, error) {
	session, err := NewSession()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	counts := filepath.Join(session.dir, "counts")
	output, err := os.Create(counts)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p, err := worker.Start(Service.Name, worker.Options{Files: []*os.File{output},
		Env: append(session.Env(), "OCLGRIND_UNINITIALIZED=1", "OCLGRIND_INST_COUNTS=1")})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Kill(context.Cause(ctx)) })()
	if limit > 0 {
		timer := time.AfterFunc(limit,
			func() { p.Kill(fmt.Errorf("the kernel %s ran for longer than %v", j.Kernel, limit)) })
		defer timer.Stop()
	}
	var r reply
	err = p.Send(j)
	if err == nil {
		err = p.Receive(&r)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("oclgrind failed: %w", err)
	}
	if r.Error != "" {
		return nil, fmt.Errorf("oclgrind: %s", r.Error)
	}
	table, err := os.ReadFile(counts)
	if err != nil {
		return nil, err
	}
	report := &Report{Memory: r.Memory}
	if report.Faults, err = session.Faults(); err != nil {
		return nil, err
	}
	if g := &j.Geometry; g.Blocks[0]*g.Blocks[1]*g.Blocks[2]*g.Threads[0]*g.Threads[1]*g.Threads[2] == 0 {
		return report, nil // there was nothing to run, and so there is no table
	}
	report.Counts, err = parseCounts(string(table), j.Kernel)
	return report, err
}
