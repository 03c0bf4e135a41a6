package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Session returns the session whose name begins with id.
func Session(ctx context.Context, s Store, id string) (session.Session, error) {
	var found []session.Session
	for i, err := range s.Sessions(ctx, Filter{Session: id}) {
		if err != nil {
			return session.Session{}, err
		}
		found = append(found, i)
	}
	text := ""
	switch {
	case len(found) == 0 || id == "":
		text = fmt.Sprintf("there is no session %q", id)
	case len(found) > 1:
		text = fmt.Sprintf("%d sessions begin with %q, the first are %s and %s", len(found), id, found[0].ID,
			found[1].ID)
	default:
		return found[0], nil
	}
	return session.Session{}, &gridio.Error{Path: s.Path(), Text: text, Hint: "gridloom results sessions lists them"}
}

// Log returns the trials of a session, in order.
func Log(ctx context.Context, s Store, id string) iter.Seq2[session.Trial, error] {
	return func(yield func(session.Trial, error) bool) {
		info, err := Session(ctx, s, id)
		if err != nil {
			yield(session.Trial{}, err)
			return
		}
		for r, err := range s.Records(ctx, Filter{Session: info.ID}) {
			if !yield(r.Trial, err) {
				return
			}
		}
	}
}
