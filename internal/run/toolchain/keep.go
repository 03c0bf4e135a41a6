package toolchain

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/run/disk"
)

// Digest names a list of texts, as the cache's keys do: no two lists share a
// name because their parts run together.
func Digest(parts ...string) string { return digest(parts...) }

// Keep stores code that another compiler has made, and returns its path. Read
// reads it.
func (c *Cache) Keep(name string, code []byte) (path string, err error) {
	err = c.within(func(dir string) error {
		path = filepath.Join(dir, name)
		return disk.Replace(path, seal(code), 0o600, false)
	})
	if err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	return path, nil
}

// Kept returns the path of what Keep has stored under a name, if it is there
// and whole.
func (c *Cache) Kept(name string) (string, bool) { return c.find(name) }

// ErrDamaged is for a file that Keep has not written, or not like that.
var ErrDamaged = errors.New("the file is damaged")

// Read reads what Keep has stored.
func Read(path string) ([]byte, error) {
	data, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	if !sealed(data) {
		return nil, fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return data[:len(data)-sha256.Size-len(sealMark)], nil
}

// readPrivate reads a file, unless somebody else could have written it.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !disk.Private(info) {
		return nil, errors.Join(err, fmt.Errorf("%s: others can write to it: %w", path, ErrDamaged))
	}
	return io.ReadAll(f)
}
