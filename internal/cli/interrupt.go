package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gridloom/gridloom/internal/run/disk"
)

// interruption ends a command that is asked to end. The first SIGINT or SIGTERM
// cancels the command's context, upon which most commands end in good order. Not
// all can: some compute what nobody thought would take long, or write to a pipe
// that nobody reads. So after a while the process ends all the same; its drafts
// of files are removed. A second signal ends it at once.
type interruption struct {
	signals chan os.Signal
	ended   chan struct{} // closed by stop
	cancel  context.CancelFunc
	after   func(time.Duration) <-chan time.Time
	leave   func() // ends the process

	mutex   sync.Mutex
	holds   int  // what must be finished first, whichever signal came
	patient bool // what a user at a terminal waits for goes on
}

// grace is how long a command may take to end in good order.
const grace = 3 * time.Second

// interruptible makes signals cancel the context that it returns.
func interruptible(stderr io.Writer) (context.Context, *interruption) {
	ctx, cancel := context.WithCancel(context.Background())
	i := &interruption{
		signals: make(chan os.Signal, 4), ended: make(chan struct{}), cancel: cancel, after: time.After,
		leave: func() { leave(stderr) },
	}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go i.listen()
	return ctx, i
}

// stop ends the listening: the command has ended by itself.
func (i *interruption) stop() {
	signal.Stop(i.signals)
	close(i.ended)
	i.cancel()
}

func (i *interruption) listen() {
	var asked os.Signal
	select {
	case asked = <-i.signals:
	case <-i.ended:
		return
	}
	i.cancel()
	for {
		select {
		case <-i.signals:
			i.leave()
		case <-i.after(grace):
			if !i.holding(asked) {
				i.leave()
			}
			continue
		case <-i.ended:
		}
		return
	}
}

func (i *interruption) holding(asked os.Signal) bool {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.holds > 0 || i.patient && asked == os.Interrupt
}

// hold runs what the process has to finish before it ends, such as saving a
// state from which the user means to go on.
func (i *interruption) hold(finish func() error) error {
	i.mutex.Lock()
	i.holds++
	i.mutex.Unlock()
	defer func() {
		i.mutex.Lock()
		i.holds--
		i.mutex.Unlock()
	}()
	return finish()
}

// wait says that the user was told what the command still does, and that another
// Ctrl-C ends it. SIGTERM comes from those who do not read that.
func (i *interruption) wait() {
	i.mutex.Lock()
	i.patient = true
	i.mutex.Unlock()
}

// leave ends the process. What it says must not keep it: standard error may be
// what the command waits for.
func leave(stderr io.Writer) {
	disk.Abandon()
	said := make(chan struct{})
	go func() {
		fmt.Fprintln(stderr, "gridloom: interrupted")
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(200 * time.Millisecond):
	}
	os.Exit(exitInterrupted)
}
