package oclgrind

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/sharedlib"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Service runs one job in a worker. Programs that call Run give it to
// worker.Main.
var Service = worker.Service{Name: "oclgrind", Serve: serve}

// reply is the answer to a Job.
type reply struct {
	Error  string
	Memory [][]byte
}

func serve(l *worker.Link) error {
	// Oclgrind keeps state by thread.
	runtime.LockOSThread()
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	var j Job
	if err := l.Receive(&j); err != nil {
		return err
	}
	var r reply
	var err error
	if r.Memory, err = run(j, l.Files[0]); err != nil {
		r.Error = err.Error()
	}
	return l.Send(r)
}

// options keep the compiler from changing what is counted, and from
// instructions that Oclgrind does not know.
var options = []string{"-cl-std=CL1.2", "-cl-opt-disable"}

// run carries a job out on the only driver that there is. Oclgrind prints its
// counts on standard output, which is sent to a file.
func run(j Job, counts *os.File) (memory [][]byte, err error) {
	if err := unix.Dup3(int(counts.Fd()), unix.Stdout, 0); err != nil {
		return nil, err
	}
	d, err := opencl.Open(0)
	if err != nil {
		return nil, err
	}
	if p := &d.Properties; p.Platform != "Oclgrind" {
		return nil, fmt.Errorf("the OpenCL loader has started %s instead: does it know OCL_ICD_VENDORS?", p.Platform)
	}
	library, err := d.LoadSource([]byte(j.Source), options)
	if err != nil {
		return nil, err
	}
	var args []device.Arg
	var buffers []*opencl.Buffer
	for _, a := range j.Args {
		if a.Bytes == 0 {
			args = append(args, &device.Value{Bytes: a.Value})
			continue
		}
		b, err := d.Reserve(a.Bytes)
		if err == nil && a.Data != nil {
			err = b.Write(0, a.Data)
		}
		if err != nil {
			return nil, err
		}
		buffers = append(buffers, b)
		args = append(args, &device.Slot{Buffer: b})
	}
	launch, err := library.PrepareGrid(j.Kernel, j.Geometry, args)
	if err == nil {
		err = launch.Launch()
	}
	if err == nil {
		err = d.Sync()
	}
	if err != nil {
		return nil, err
	}
	for _, b := range buffers {
		data := make([]byte, b.Bytes())
		if err := b.Read(0, data); err != nil {
			return nil, err
		}
		memory = append(memory, data)
	}
	return memory, errors.Join(d.Close(), flush())
}

// flush writes out what C has not printed yet: it is lost when Go exits.
func flush() error {
	library, _, err := sharedlib.Place{Names: []string{"libc.so.6"}}.Open()
	if err != nil {
		return err
	}
	var c struct {
		Flush func(file uintptr) int32 `symbol:"fflush"`
	}
	if err := sharedlib.Bind(library, &c); err != nil {
		return err
	}
	const all = 0
	if c.Flush(all) != 0 {
		return errors.New("what Oclgrind has counted could not be written")
	}
	return nil
}
