package store

import "github.com/gridloom/gridloom/internal/tune/versions"

// Versions say by which definitions the trials of a session were made. They are
// part of the scenario: other definitions give other kernels, whose times and
// whose bits are others. Only trials of the current versions are known, best, refused
// or wrong. What others have measured is a place to begin from.
type Versions = versions.Set

// Current returns the versions of sessions that begin now.
func Current() Versions { return versions.Current() }

// settle completes the versions of a session that a file has, and refuses those
// that only a later Gridloom knows: it may mean something else by its
// configurations.
func (i *Info) settle() error {
	i.Versions = i.Versions.Complete()
	if err := i.Versions.Known(); err != nil {
		return badFile("use the Gridloom that wrote the file, or a later one", "session %s was measured under %v", i.ID, err)
	}
	return nil
}
