package store

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Condemning refuses verdicts that no variant which was right can come to. Databases
// ask it for Recorder.Condemn.
func Condemning(v session.Verdict) error {
	if _, err := session.VerdictOf(int(v)); v == session.OK || err != nil {
		return &gridio.Error{Text: fmt.Sprintf("a variant cannot be condemned by verdict %d", v)}
	}
	return nil
}
