package session

import (
	"slices"
	"strings"
)

// Space says what a search was restricted to and what it began from. The zero value is
// all that the source leaves.
type Space struct {
	Restrictions []Restriction `json:"restrictions,omitempty"`
	Free         bool          `json:"free,omitempty"`         // also what the source excludes
	AnyIntegers  bool          `json:"any_integers,omitempty"` // and values between powers of two
	Plan         string        `json:"plan,omitempty"`         // settings that stay as they are
	// Begin are the configurations that the search began from, the best first.
	Begin  []string `json:"begin,omitempty"`
	Former string   `json:"former,omitempty"` // what an earlier version wrote, if it cannot be read
}

// Restriction is what the user leaves of a space.
type Restriction struct {
	Kind string `json:"kind"` // limit or fix
	Text string `json:"text"`
}

// The kinds of restrictions.
const (
	Limit = "limit"
	Fix   = "fix"
)

// SameAs reports whether two searches were restricted alike, whatever they began from.
func (s *Space) SameAs(t *Space) bool {
	return slices.Equal(s.Restrictions, t.Restrictions) && s.Free == t.Free && s.AnyIntegers == t.AnyIntegers &&
		s.Plan == t.Plan && s.Former == t.Former
}

// String words the restrictions: limit vec<=4; free.
func (s *Space) String() string {
	var parts []string
	for _, r := range s.Restrictions {
		parts = append(parts, r.Kind+" "+r.Text)
	}
	if s.Free {
		parts = append(parts, "free")
	}
	if s.AnyIntegers {
		parts = append(parts, "any integers")
	}
	for _, text := range []string{s.Plan, s.Former} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}
