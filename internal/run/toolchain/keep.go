package toolchain

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Digest names a list of texts, as the cache's keys do: no two lists share a
// name because their parts run together.
func Digest(parts ...string) string { return digest(parts...) }

// Keep stores code that another compiler has made, and returns its path. Read
// reads it.
func (c *Cache) Keep(name string, code []byte) (string, error) {
	dir, err := c.scratch()
	if err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	defer os.RemoveAll(dir)
	from, to := filepath.Join(dir, name), filepath.Join(c.Dir, name)
	if err := os.WriteFile(from, seal(code), 0o600); err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	if err := os.Rename(from, to); err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	return to, nil
}

// Kept returns the path of what Keep has stored under a name, if it is there
// and whole.
func (c *Cache) Kept(name string) (string, bool) {
	path := filepath.Join(c.Dir, name)
	if _, err := Read(path); err != nil {
		if errors.Is(err, ErrDamaged) {
			os.Remove(path)
		}
		return "", false
	}
	now := time.Now()
	os.Chtimes(path, now, now) // for Trim; a read-only cache is still a cache
	return path, true
}

// ErrDamaged is for a file that Keep has not written, or not like that.
var ErrDamaged = errors.New("the file is damaged")

// Read reads what Keep has stored.
func Read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !sealed(data) {
		return nil, fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return data[:len(data)-sha256.Size-len(sealMark)], nil
}
