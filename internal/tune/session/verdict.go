package session

import (
	"fmt"
	"slices"
)

// Verdict says what became of a variant: right, or refused for a reason.
type Verdict uint8

const (
	OK         Verdict = iota
	Constraint         // the configuration is no member of the space
	TooMuch            // it needs more than the device has, as the text alone tells
	Compiling          // the compiler refused it, hung on it or died of it
	Launch             // the driver refused the compiled code, or its launch
	Timeout            // it ran longer than its limit
	Crash              // it faulted, or took its process down
	Wrong              // it computed something else
)

var verdicts = [...]string{"ok", "constraint", "resources", "compiler", "launch", "timeout", "crash", "wrong"}

// String returns the verdict's name, as it is recorded.
func (v Verdict) String() string { return verdicts[v] }

// Verdicts returns all names.
func Verdicts() []string { return slices.Clone(verdicts[:]) }

// ParseVerdict reads a name.
func ParseVerdict(name string) (Verdict, error) {
	i := slices.Index(verdicts[:], name)
	if i < 0 {
		return 0, fmt.Errorf("there is no verdict %q", name)
	}
	return Verdict(i), nil
}

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads it.
func (v *Verdict) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVerdict(string(text))
	return err
}

// VerdictOf returns the verdict of a number, as databases have it.
func VerdictOf(n int) (Verdict, error) {
	if n < 0 || n >= len(verdicts) {
		return 0, fmt.Errorf("there is no verdict %d", n)
	}
	return Verdict(n), nil
}
