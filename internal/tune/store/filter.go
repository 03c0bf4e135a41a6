package store

import (
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Filter says which trials are wanted. A field that is zero lets all pass. The methods
// HasSession and HasTrial define it; databases may ask the same in their own language.
type Filter struct {
	Session  string            // the first characters of its name
	Program  string            // part of its name, or the first characters of its hash
	Device   string            // part of its name, or its API; case does not matter
	Sizes    string            // their text
	DType    string            // as it is stored
	Strategy string            // its name
	Kernel   string            // its name
	Whole    bool              // only trials of whole programs
	Verdict  []verdict.Verdict // one of these
	// Arithmetic is the version of the arithmetic under which they were made.
	Arithmetic int
	Since      time.Time
	Until      time.Time // before this

	// Like is a scenario that sessions must match: its program (the hash), device (API,
	// name, driver, units), compiler, sizes, type and arithmetic, where these are not
	// zero, and its cluster. A session that does not say how many units there were, or
	// with which options it compiled, matches any.
	Like *session.Scenario
	// Versions are those of the definitions.
	Versions Versions
}

// Versions says which versions are wanted.
type Versions uint8

// What versions a filter lets pass.
const (
	AnyVersions     Versions = iota
	CurrentVersions          // those of this Gridloom
	OtherVersions            // all others
)

// HasSession reports whether trials of a session may pass.
func (f *Filter) HasSession(s *session.Session) bool {
	lower := strings.ToLower(f.Device)
	switch {
	case !strings.HasPrefix(s.ID, f.Session),
		!strings.Contains(s.Program.Name, f.Program) && !strings.HasPrefix(s.Program.Hash, f.Program),
		!strings.Contains(strings.ToLower(s.Device.Name), lower) && s.Device.API != lower,
		!has(f.Sizes, s.Sizes.String()), !has(f.DType, s.DType), !has(f.Strategy, s.Strategy),
		f.Arithmetic != 0 && f.Arithmetic != s.Arithmetic,
		!f.Until.IsZero() && !s.Started.Before(f.Until),
		f.Versions != AnyVersions && (f.Versions == CurrentVersions) != s.IsCurrent():
		return false
	}
	return f.Like == nil || matches(f.Like, &s.Scenario)
}

// matches reports whether a scenario matches what is wanted.
func matches(want, s *session.Scenario) bool {
	for _, e := range []struct{ want, is string }{
		{want.Program.Hash, s.Program.Hash}, {want.Device.API, s.Device.API}, {want.Device.Name, s.Device.Name},
		{want.Device.Driver, s.Device.Driver}, {want.Compiler.Name, s.Compiler.Name},
		{want.Compiler.Version, s.Compiler.Version},
		{want.Sizes.String(), s.Sizes.String()}, {want.DType, s.DType}, {want.FP, s.FP},
	} {
		if !has(e.want, e.is) {
			return false
		}
	}
	switch {
	case want.Device.Units != 0 && s.Device.Units != 0 && want.Device.Units != s.Device.Units,
		want.Compiler.Options != "" && s.Compiler.Options != "" && want.Compiler.Options != s.Compiler.Options:
		return false
	}
	return want.SameCluster(&s.Cluster)
}

func has(want, is string) bool { return want == "" || want == is }

// HasTrial reports whether a trial passes, of a session that does.
func (f *Filter) HasTrial(t *session.Trial) bool {
	return has(f.Kernel, t.Kernel) && (!f.Whole || t.Kernel == "") &&
		(len(f.Verdict) == 0 || slices.Contains(f.Verdict, t.Verdict)) &&
		!t.At.Before(f.Since) && (f.Until.IsZero() || t.At.Before(f.Until))
}
