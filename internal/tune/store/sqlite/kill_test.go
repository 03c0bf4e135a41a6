package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

// TestMain lets the test's binary be the other processes that tests need.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		role, path := os.Args[1], os.Args[2]
		if f, ok := roles[role]; ok {
			if err := f(path); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var roles = map[string]func(path string) error{"hold": hold, "append": appendForever, "fill": fill}

// child starts another process and waits until it says that it is ready. It
// ends with the test.
func child(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	cmd, _ := start(t, role, path)
	return cmd
}

func start(t *testing.T, role, path string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], role, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s says %q: %v", role, line, err)
	}
	return cmd, r
}

// hold takes the lock of writers and keeps it.
func hold(path string) error {
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	if _, err := s.write.Begin(); err != nil {
		return err
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return nil
}

// appendForever appends trials and prints the number of those that are stored.
func appendForever(path string) error {
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	search := storetest.Search()
	search.Started = time.Now()
	x, err := s.Begin(context.Background(), search)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	fmt.Println(x.ID())
	for i := 0; ; i++ {
		t := storetest.Numbered(0, i)
		if err := x.Append(context.Background(), &t); err != nil {
			return err
		}
		fmt.Println(i + 1)
	}
}

// A process that is killed at any moment loses at most the trial that it was
// about to store.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	rng := rand.New(rand.NewPCG(7, 0))
	total := 0
	for range 12 {
		cmd, out := start(t, "append", path)
		id, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		id = strings.TrimSpace(id)
		time.AfterFunc(time.Duration(rng.IntN(120_000))*time.Microsecond, func() { cmd.Process.Kill() })
		rest, _ := io.ReadAll(out)
		cmd.Wait()
		said := 0
		if lines := strings.Fields(string(rest)); len(lines) > 0 && strings.HasSuffix(string(rest), "\n") {
			if said, err = strconv.Atoi(lines[len(lines)-1]); err != nil {
				t.Fatal(err)
			}
		} else if len(lines) > 1 {
			said, _ = strconv.Atoi(lines[len(lines)-2])
		}

		s := open(t, path, Options{})
		report := sound(t, s)
		got := log(t, s, id)
		if len(got) != said && len(got) != said+1 {
			t.Errorf("%d trials were stored, %d are left", said, len(got))
		}
		for i, trial := range got {
			want := storetest.Numbered(0, i)
			if trial.Index != i || trial.Config != want.Config || trial.Note != strings.ToValidUTF8(want.Note, "") ||
				trial.Median != want.Median {
				t.Fatalf("trial %d is %+v", i, trial)
			}
		}
		total += len(got)
		if report.Trials != total {
			t.Errorf("%d trials of all sessions, want %d", report.Trials, total)
		}
		// The session goes on where it was.
		x, err := s.Resume(context.Background(), id, "again")
		if err != nil || x.Len() != len(got) {
			t.Fatal(err)
		}
		next := storetest.Numbered(0, len(got))
		add(t, x, next)
		total++
		s.Close()
	}
	if total < 30 {
		t.Errorf("only %d trials in all: nothing was killed at work", total)
	}
}

// A process that is killed while it makes a store leaves one that others make.
func TestKilledAtBirth(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	path := filepath.Join(t.TempDir(), "store.db")
	for range 10 {
		cmd := exec.Command(os.Args[0], "append", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(25_000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		s := open(t, path, Options{})
		sound(t, s)
		begin(t, s, storetest.Search())
		s.Close()
		for _, file := range []string{path, path + "-wal", path + "-shm"} {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
}

// fill appends 150 trials of a session of its own.
func fill(path string) error {
	fmt.Println("ready")
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	search := storetest.Search()
	search.Started = time.Now()
	x, err := s.Begin(context.Background(), search)
	if err != nil {
		return err
	}
	for i := range 150 {
		t := storetest.Numbered(os.Getpid(), i)
		if err := x.Append(context.Background(), &t); err != nil {
			return err
		}
	}
	fmt.Println(x.ID(), os.Getpid())
	return s.Close()
}

// Processes that begin a store at once and write to it at once do not disturb
// each other.
func TestSeveralWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	const n = 3
	var outs [n]string
	var errs [n]error
	var wait sync.WaitGroup
	for p := range n {
		wait.Go(func() {
			out, err := exec.Command(os.Args[0], "fill", path).Output()
			outs[p], errs[p] = string(out), err
		})
	}
	wait.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, Options{})
	if report := sound(t, s); report.Trials != n*150 || report.Sessions != n {
		t.Errorf("%+v", report)
	}
	for _, out := range outs {
		words := strings.Fields(out) // ready, the session, the process
		pid, err := strconv.Atoi(words[2])
		if err != nil {
			t.Fatal(err)
		}
		for i, trial := range log(t, s, words[1]) {
			if trial.Config != storetest.Numbered(pid, i).Config {
				t.Errorf("trial %d of process %d is %s", i, pid, trial.Config)
			}
		}
	}
}
