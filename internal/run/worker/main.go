package worker

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
)

// Word is the first argument that makes a process a worker.
const Word = "__worker"

// Service is something that workers can do.
type Service struct {
	Name string
	// Serve answers requests until Receive returns io.EOF or there is nothing
	// left to do.
	Serve func(*Link) error
}

// ready is set once Main was called: this program can be started as a worker.
var ready atomic.Bool

// The files that a worker inherits.
const (
	requestFile = 3 + iota
	replyFile
	firstShared
)

// Main must be called first thing in main, and in TestMain of tests that start
// workers. In a worker it serves and exits; elsewhere it returns at once.
func Main(services ...Service) {
	ready.Store(true)
	if len(os.Args) < 2 || os.Args[1] != Word {
		return
	}
	if err := serve(os.Args[2:], services); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(args []string, services []Service) error {
	// Ctrl-C reaches all processes of a terminal, and SIGTERM those of a job. They
	// are the parent's affair.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	i := -1
	if len(args) > 0 {
		i = slices.IndexFunc(services, func(s Service) bool { return s.Name == args[0] })
	}
	switch {
	case i >= 0 && len(args) == 2:
		if shared, err := strconv.Atoi(args[1]); err == nil {
			return services[i].Serve(inherit(shared))
		}
	case i >= 0 && len(args) == 3:
		link, err := openNamed(args[1], args[2])
		if err != nil {
			return err
		}
		return services[i].Serve(link)
	}
	return fmt.Errorf("%s is for processes that this program starts itself", Word)
}

// inherit takes the files that the parent has handed down.
func inherit(shared int) *Link {
	file := func(fd int, name string) *os.File { return os.NewFile(uintptr(fd), name) }
	link := newLink(file(requestFile, "requests"), file(replyFile, "replies"))
	for i := range shared {
		link.Files = append(link.Files, file(firstShared+i, "shared"))
	}
	return link
}
