package store

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Condemning refuses verdicts that no variant which was right can come to. Databases
// ask it for Recorder.Condemn.
func Condemning(v verdict.Verdict) error {
	if _, err := verdict.FromNumber(int(v)); v == verdict.OK || err != nil {
		return &gridio.Error{Text: fmt.Sprintf("a variant cannot be condemned by verdict %d", v)}
	}
	return nil
}
