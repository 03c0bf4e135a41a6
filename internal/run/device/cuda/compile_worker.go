package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// CompileService compiles in a worker.
var CompileService = worker.Service{Name: "compile", Serve: serve}

// memoryEnv tells a worker how many bytes it may take.
const memoryEnv = "GRIDLOOM_COMPILE_MEMORY"

type request struct {
	Text    []byte
	Options []string
}

type answer struct {
	Code    []byte
	Log     string
	Took    time.Duration
	Refused *CompileError
	Error   string // what the source is not to blame for
	Reason  verdict.Verdict
}

func serve(l *worker.Link) error {
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	compiler, err := FindCompiler()
	if err != nil {
		return err
	}
	if err := limitMemory(); err != nil {
		return err
	}
	for {
		var q request
		if err := l.Receive(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		start := time.Now()
		code, err := compiler.CompileWith(q.Text, q.Options)
		a := answer{Code: code.Bytes, Log: code.Log, Took: time.Since(start)}
		if refused, ok := errors.AsType[*CompileError](err); ok {
			a.Refused = refused
		} else if err != nil {
			a.Error, a.Reason = err.Error(), verdict.Of(err)
		}
		if err := l.Send(a); err != nil {
			return err
		}
	}
}

// limitMemory lets this process take so much more address space than it has.
func limitMemory() error {
	more, err := strconv.ParseUint(os.Getenv(memoryEnv), 10, 63)
	if err != nil {
		return fmt.Errorf("%s: %w", memoryEnv, err)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	pages, err := strconv.ParseUint(string(first), 10, 63)
	if err != nil {
		return err
	}
	bytes := pages*uint64(os.Getpagesize()) + more
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes})
}
