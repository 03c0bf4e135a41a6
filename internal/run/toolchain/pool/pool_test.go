package pool

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	worker.Main(echo)
	os.Exit(m.Run())
}

// echo answers a word with its process, hangs at "hang" and ends at "end".
var echo = worker.Service{Name: "echo", Serve: func(l *worker.Link) error {
	for {
		var word string
		if err := l.Receive(&word); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch word {
		case "hang":
			time.Sleep(time.Hour)
		case "end":
			os.Exit(3)
		}
		if err := l.Send(os.Getpid()); err != nil {
			return err
		}
	}
}}

func open(t *testing.T, workers int, deadline time.Duration) *Pool {
	p := New(echo.Name, workers, deadline, worker.Options{})
	t.Cleanup(p.Close)
	return p
}

func ask(ctx context.Context, p *Pool, word string) (process int, err error) {
	if err := p.Enter(ctx); err != nil {
		return 0, err
	}
	defer p.Leave()
	err = p.Ask(ctx, word, &process)
	return process, err
}

// There are no more workers than places, and they stay for the next request.
func TestWorkersStay(t *testing.T) {
	p := open(t, 2, time.Minute)
	var wait sync.WaitGroup
	processes := make([]int, 8)
	for i := range processes {
		wait.Go(func() {
			var err error
			if processes[i], err = ask(t.Context(), p, "hello"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	slices.Sort(processes)
	if n := len(slices.Compact(processes)); n < 1 || n > 2 {
		t.Errorf("%d processes", n)
	}
	if slices.Contains(processes, os.Getpid()) || processes[0] == 0 {
		t.Errorf("processes %v", processes)
	}
}

// A worker that ends or hangs costs the request, and no other.
func TestLostWorkers(t *testing.T) {
	for _, c := range []struct {
		word, want string
		deadline   time.Duration
	}{
		{"end", "status 3", time.Minute},
		{"hang", "it took longer than 100ms", 100 * time.Millisecond},
	} {
		p := open(t, 1, c.deadline)
		if _, err := ask(t.Context(), p, c.word); !Died(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.word, err)
		}
		again := open(t, 1, time.Minute)
		if c.word == "end" {
			again = p
		}
		if _, err := ask(t.Context(), again, "hello"); err != nil {
			t.Errorf("after %s: %v", c.word, err)
		}
	}
}

// An end of the context ends what is under way and what waits for a place.
func TestContext(t *testing.T) {
	p := open(t, 1, time.Hour)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := ask(ctx, p, "hang"); err == nil || context.Cause(ctx) != why {
				t.Error(err)
			}
		})
	}
	cancel(why)
	wait.Wait()
	if _, err := ask(ctx, p, "hello"); err != why {
		t.Error(err)
	}
	if _, err := ask(t.Context(), p, "hello"); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// Places can be given up, but for the last one.
func TestGiveUp(t *testing.T) {
	p := open(t, 2, time.Minute)
	for i, want := range []bool{true, false} {
		if err := p.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.GiveUp() != want {
			t.Errorf("place %d: given up is not %v", i, want)
		}
	}
	p.Leave()
	if p.Workers() != 1 {
		t.Errorf("%d workers are left", p.Workers())
	}
	if _, err := ask(t.Context(), p, "hello"); err != nil {
		t.Error(err)
	}
}
