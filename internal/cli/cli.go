// Package cli is the gridloom command: it reads arguments and files, calls the
// packages that do the work, and words what they return. Results go to stdout,
// progress, notes and errors to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/device/opencl/oclgrind"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// app is what every command has at hand.
type app struct {
	streams
	src        *diag.Source // the program that was read last, to show places in it
	ctx        context.Context
	interrupts *interruption
	parser     *kong.Kong
}

// commands is the command line's grammar.
type commands struct {
	Check      checkCmd      `cmd:"" help:"Parse and check source files."`
	Fmt        fmtCmd        `cmd:"" help:"Format source files."`
	Fission    fissionCmd    `cmd:"" help:"Write a program with calls joined, and with stencils split."`
	Explain    explainCmd    `cmd:"" help:"Show order, work, data movement, dependences and the roofline bound."`
	Space      spaceCmd      `cmd:"" help:"Show the configurations that a program's kernels may have."`
	Features   featuresCmd   `cmd:"" help:"Print the numbers by which learners know a program's kernels."`
	Run        runCmd        `cmd:"" help:"Run a program on a device."`
	Profile    profileCmd    `cmd:"" help:"Say what binds a program's kernels, and what to change."`
	Tune       tuneCmd       `cmd:"" help:"Find the fastest kernels for a program on a device."`
	Record     recordCmd     `cmd:"" help:"Measure the kernels of many programs, for models to learn from."`
	Learn      learnCmd      `cmd:"" help:"Make a model that predicts the speed of kernels."`
	Predict    predictCmd    `cmd:"" help:"Rank the configurations of a program's kernels before any is measured."`
	Report     reportCmd     `cmd:"" help:"Draw the report of a search once more."`
	Search     searchCmd     `cmd:"" help:"List search strategies, and score them on recorded spaces."`
	Synth      synthCmd      `cmd:"" help:"Write stencil programs of publications, to tune and to learn from."`
	Emit       emitCmd       `cmd:"" help:"Write the generated code, as a library to call."`
	Devices    devicesCmd    `cmd:"" help:"List the devices that were found, and why others cannot be used."`
	Bench      benchCmd      `cmd:"" help:"Measure the project's own figures on this machine."`
	Results    resultsCmd    `cmd:"" help:"Show, export and import what was measured."`
	Completion completionCmd `cmd:"" help:"Print a shell completion script."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

const description = `Compiler and auto-tuner for stencil computations.

Examples:

	gridloom check examples/heat3d.loom
	gridloom explain examples/heat3d.loom --machine h200
	gridloom run examples/heat3d.loom --check --out u=heat.png --zoom 4
	gridloom emit examples/heat3d.loom --out heat3d

Exit status: 0 right, 1 source, 2 usage, 3 device or file, 4 a check failed, 130 interrupted.`

// parsed carries an exit out of the kong parser, which --help asks for.
type parsed int

// Worker must be called first in main: in a process that Gridloom has started
// as a worker, it serves and does not return.
func Worker() {
	worker.Main(append(engine.Services(), bench.Service, bench.CompileService, oclgrind.Service)...)
}

// Run runs the command that args name and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	ctx, stop := interruptible(stderr)
	defer stop.stop()
	return run(ctx, stop, args, stdin, stdout, stderr)
}

func run(ctx context.Context, interrupts *interruption, args []string,
	stdin io.Reader, stdout, stderr io.Writer) (status int) {
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
	a := &app{streams: newStreams(stdin, stdout, stderr), ctx: ctx, interrupts: interrupts}
	defer a.close()
	if err := a.limits(); err != nil {
		return a.report(err)
	}
	var err error
	a.parser, err = a.grammar(&cmds)
	if err != nil {
		panic(err)
	}
	if len(args) == 1 && args[0] == "--version" {
		args = []string{"version"}
	}
	if len(args) == 0 {
		return a.report(usage("which command?").hintf("gridloom --help lists them"))
	}
	kctx, err := a.parser.Parse(args)
	switch {
	case a.out.failed != nil: // it was to print help
		return a.report(a.out.failed)
	case err != nil:
		return a.report(misspelt(err))
	}
	if err := noZeros(kctx); err != nil {
		return a.report(err)
	}
	err = kctx.Run(a)
	if failed := a.close(); failed != nil && (err == nil || err.Error() == "") { // what else is to say stands first
		err = failed
	}
	return a.report(err)
}

// grammar returns the parser of the command line.
func (a *app) grammar(cmds *commands) (*kong.Kong, error) {
	return kong.New(cmds,
		kong.Name("gridloom"),
		kong.Description(description),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(code int) { panic(parsed(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 90}),
		kong.Vars{
			"machines": strings.Join(machine.Names(), ", "), "maps": strings.Join(colourMaps(), ", "),
			"prior": strconv.Itoa(predict.AutoPrior),
		},
		kong.ExplicitGroups([]kong.Group{
			{Key: "pictures", Title: "Pictures (.png outputs):"},
			{Key: "device", Title: "Device:"},
			{Key: "long", Title: "Long runs:"},
			{Key: "which", Title: "Which variants:"},
		}),
	)
}

// misspelt words an error of the parser.
func misspelt(err error) error {
	help := "gridloom --help"
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil && p.Context.Selected() != nil {
		help = fmt.Sprintf("gridloom %s --help", p.Context.Selected().Path())
	}
	text := err.Error()
	for _, w := range parserWords {
		text = w.said.ReplaceAllString(text, w.says)
	}
	return usage("%s", text).hintf("%s tells more", help)
}

// parserWords turns what the parser says into what it means.
var parserWords = []struct {
	said *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`^(--\S+): expected \S+ value but got "EOL" \(<EOL>\)$`), "$1 needs a value"},
	{regexp.MustCompile(`^(--\S+): expected \S+ value but got "(\S+)" \(.*\); perhaps try --\S+="\S+"\?$`), "$1 needs a value; one that begins with - is written $1=$2"},
	{regexp.MustCompile(`^(--\S+): expected a valid \S+ bit int but got "(.*)"$`), "$1 $2: it is a whole number"},
	{regexp.MustCompile(`^expected "(<\S+>).*"$`), "the argument $1 is missing"},
}
