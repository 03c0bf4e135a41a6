// Package session holds tuning sessions as typed, versioned values: what a search is
// about (Search), each variant that it tried (Trial), and what else happened (Event).
//
// Every value has one canonical JSON. Values of earlier versions are read, too: what
// these wrote as text for people is taken apart in one place (former.go).
package session

import (
	"time"

	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Version is that of the values and of their JSON. Version 1 did not say under which
// definitions something was measured. Version 2 had sizes, budgets, spaces, clocks
// and hosts as text.
const Version = 3

// Imported is the strategy of sessions that another program has measured.
const Imported = "imported"

// Search is what a session is about.
type Search struct {
	Scenario
	Source   string    `json:"source_hash,omitempty"` // of the bytes of the program's source
	Strategy string    `json:"strategy"`
	Seed     uint64    `json:"seed"`
	Budget   Budget    `json:"budget,omitzero"`
	Space    Space     `json:"space,omitzero"`
	Origin   string    `json:"origin,omitempty"` // where it was measured, if not by this Gridloom's own user
	Commit   string    `json:"commit,omitempty"` // of Gridloom
	Started  time.Time `json:"started"`
}

// Session is a search with what became of it.
type Session struct {
	ID string `json:"id"` // the same in every store that holds the session
	Search
	Runs     []Run     `json:"runs,omitempty"`
	Finished time.Time `json:"finished,omitzero"`
	Outcome  string    `json:"outcome,omitempty"`
}

// Run is a process that added to a session from one trial on.
type Run struct {
	Trial   int       `json:"trial"`
	Started time.Time `json:"started"`
	Commit  string    `json:"commit"`
}

// CommitOf returns the commit of the Gridloom that measured a trial.
func (s *Session) CommitOf(trial int) string {
	commit := s.Commit
	for _, r := range s.Runs {
		if r.Trial <= trial {
			commit = r.Commit
		}
	}
	return commit
}

// Current returns the versions of what is measured now.
func Current() versions.Set { return versions.Current() }
