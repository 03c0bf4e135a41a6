package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// streams are where a command reads and writes. Much of what is written comes
// from outside: names of files, lines of sources, what compilers said, what a
// store holds. None of it may steer a terminal, or look like another text in a
// log, so that stdout and stderr replace control characters. What is to come out
// as it is goes to data; lines of a terminal that are rewritten, and colours, to
// cursor, after diag.Visible or diag.Render.
type streams struct {
	stdin  io.Reader
	stdout *diag.Screen // results for people
	data   io.Writer    // results for programs, byte by byte; on a terminal, like stdout
	json   *diag.Screen // results as JSON, where escapes lose nothing
	stderr *diag.Screen // progress, notes and errors
	cursor io.Writer    // stderr as it is

	out *output
}

func newStreams(stdin io.Reader, stdout, stderr io.Writer) streams {
	out := &output{to: stdout}
	s := streams{
		stdin: stdin, stdout: diag.NewScreen(out), data: out, json: diag.NewJSONScreen(out),
		stderr: diag.NewScreen(stderr), cursor: stderr, out: out,
	}
	if isTerminal(stdout) {
		s.data = s.stdout
	}
	return s
}

// close writes what is left and returns what became of standard output.
func (s *streams) close() error {
	for _, screen := range []*diag.Screen{s.stdout, s.json, s.stderr} {
		screen.Close() // out remembers failures
	}
	return s.out.failed
}

// row prints a line to standard output: one whatever the texts in it are.
func (s *streams) row(format string, args ...any) error {
	_, err := io.WriteString(s.stdout, diag.Line(fmt.Sprintf(format, args...))+"\n")
	return err
}

// colour reports whether stderr is a terminal that wants colours.
func (s *streams) colour() bool { return os.Getenv("NO_COLOR") == "" && s.terminal() }

// terminal reports whether stderr is a terminal on which a line can be
// rewritten.
func (s *streams) terminal() bool { return os.Getenv("TERM") != "dumb" && isTerminal(s.cursor) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// output is standard output. It names itself in errors, and remembers the first
// one, so that nobody takes a result for whole that is not.
type output struct {
	to     io.Writer
	failed error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err == nil {
		return n, nil
	}
	if o.failed == nil {
		o.failed = gridio.Named("standard output", err)
	}
	return n, o.failed
}

// indented returns a text whose lines after the first stand further in, so that
// none of them can be taken for a message of its own.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
