package sqlite

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

// An export does not hold what it writes.
func TestStreams(t *testing.T) {
	s := fresh(t)
	x := begin(t, s, storetest.Search())
	rng := rand.New(rand.NewPCG(2, 0))
	appendAll(t, s, x, 3000, func() session.Trial { return measured(rng, plan(rng)) })
	var held int
	stop := &stopper{limit: 10000, held: &held}
	if err := store.ExportLines(context.Background(), s, stop, store.Filter{}); err != errStop {
		t.Error(err)
	}
	if held > 20000 {
		t.Errorf("%d bytes were written before the first error was seen", held)
	}
	// The reader that was left in the middle keeps nobody from writing.
	next := storetest.Trial()
	add(t, x, next)
}

var errStop = &store.BadFile{Text: "stop"}

type stopper struct {
	limit int
	held  *int
}

func (w *stopper) Write(p []byte) (int, error) {
	*w.held += len(p)
	if *w.held > w.limit {
		return 0, errStop
	}
	return len(p), nil
}
