package store

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// What may be wrong with a store, for errors.Is.
var (
	ErrNone     = errors.New("there is no store")
	ErrNotStore = errors.New("the file is no store")
	ErrNewer    = errors.New("the store is of a newer version")
	ErrOlder    = errors.New("the store is of an older version")
	ErrDamaged  = errors.New("the store is damaged")
	ErrBusy     = errors.New("the store is locked")
	ErrFull     = errors.New("there is no room for the store to grow")
	ErrReadOnly = errors.New("the store cannot be written")
	ErrVersions = errors.New("the session was measured under other definitions")
)

// Outdated refuses to go on with a session of other versions: its trials and the next
// ones could not be compared.
func Outdated(s *session.Session) error {
	return &gridio.Error{Text: fmt.Sprintf("session %s was measured under %s, and this Gridloom has %s",
		s.ID, s.Definitions(), session.Current().Definitions()), Hint: "begin another session", Err: ErrVersions}
}
