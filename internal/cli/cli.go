// Package cli is the gridloom command: it reads arguments and files, calls the
// packages that do the work, and words what they return. Results go to stdout,
// progress, notes and errors to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	runexec "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Exit statuses.
const (
	exitRight       = 0
	exitSource      = 1   // the source is wrong
	exitUsage       = 2   // the command line is wrong
	exitDevice      = 3   // a device, a file or the compiler failed
	exitCheck       = 4   // a check found a difference
	exitInterrupted = 130 // stopped by the user
)

// app is what every command has at hand.
type app struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	parser *kong.Kong
}

// commands is the command line's grammar.
type commands struct {
	Check      checkCmd      `cmd:"" help:"Parse and check a source file."`
	Fmt        fmtCmd        `cmd:"" help:"Format source files."`
	Explain    explainCmd    `cmd:"" help:"Show order, work, data movement, dependences and the roofline bound."`
	Run        runCmd        `cmd:"" help:"Run a program on a device."`
	Emit       emitCmd       `cmd:"" help:"Write the generated code as a library to call."`
	Devices    devicesCmd    `cmd:"" help:"List the devices that were found, and why others cannot be used."`
	Bench      benchCmd      `cmd:"" help:"Measure the project's own figures on this machine."`
	Completion completionCmd `cmd:"" help:"Print a shell completion script."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// failure is an error with the status that the process ends with. A failure
// without a message has been reported already.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func failf(status int, format string, args ...any) error {
	return &failure{status, fmt.Errorf(format, args...)}
}

// usage is an error in the command line.
func usage(format string, args ...any) error { return failf(exitUsage, format, args...) }

// trouble is an error of a device, a file or the system.
func trouble(err error) error {
	if err == nil {
		return nil
	}
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return &failure{exitInterrupted, errors.New("interrupted")}
	}
	return &failure{exitDevice, err}
}

// parsed carries an exit out of the kong parser, which --help asks for.
type parsed int

// Run runs the command that args name and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case parsed:
			status = int(r)
		default:
			panic(r)
		}
	}()
	var cmds commands
	a := &app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	parser, err := kong.New(&cmds,
		kong.Name("gridloom"),
		kong.Description("Compiler and auto-tuner for stencil computations.\n\nExit status: 0 right, 1 source, 2 usage, 3 device or file, 4 a check failed, 130 interrupted."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(parsed(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 90}),
	)
	if err != nil {
		panic(err)
	}
	a.parser = parser
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "gridloom: %v\n", err)
		fmt.Fprintf(stderr, "Try gridloom --help, or gridloom COMMAND --help.\n")
		return exitUsage
	}
	return a.report(kctx.Run(a))
}

// report prints an error, if there is anything left to say, and returns the
// exit status.
func (a *app) report(err error) int {
	if err == nil {
		return exitRight
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitDevice, err}
	}
	if f.err != nil {
		fmt.Fprintf(a.stderr, "gridloom: %s\n", strings.TrimSpace(f.err.Error()))
	}
	return f.status
}

// Worker must be called first in main: in a process that Gridloom has started
// as a worker, it serves and does not return.
func Worker() { worker.Main(runexec.Service) }
