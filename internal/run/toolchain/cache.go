package toolchain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Cache is a folder of compiled objects, named by the digest of all that they
// depend on. Processes share it without locks: a file appears whole, by being
// renamed into place, and carries a digest of its own contents, so that a
// damaged one is noticed and made anew.
type Cache struct {
	Dir  string
	Note string // why it is not where it should be; "" if it is

	temporary bool
}

// OpenCache returns the cache in a folder, or for "" in the user's cache
// folder. Where that cannot be written to, the cache is a temporary folder
// that Close removes, and Note says so.
func OpenCache(dir string) (*Cache, error) {
	var err error
	if dir == "" {
		if dir, err = os.UserCacheDir(); err == nil {
			dir = filepath.Join(dir, "gridloom")
		}
	}
	if err == nil {
		err = writable(dir)
	}
	if err == nil {
		return &Cache{Dir: dir}, nil
	}
	temp, terr := os.MkdirTemp("", "gridloom-cache-*")
	if terr != nil {
		return nil, fmt.Errorf("compiled code can be kept nowhere: %w; %w", err, terr)
	}
	return &Cache{Dir: temp, Note: fmt.Sprintf("compiled code is not kept for the next time: %v", err), temporary: true}, nil
}

// writable makes the folder if need be and tries to write to it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(dir, "tmp-*")
	if err != nil {
		return err
	}
	return os.Remove(probe)
}

// Close removes the cache if it is a temporary one.
func (c *Cache) Close() error {
	if !c.temporary {
		return nil
	}
	return os.RemoveAll(c.Dir)
}

// scratch returns a new folder to compile in, on the cache's file system.
func (c *Cache) scratch() (string, error) { return os.MkdirTemp(c.Dir, "tmp-*") }

func (c *Cache) objectPath(key string) string { return filepath.Join(c.Dir, key+".so") }

// object returns the path of an object that is there and whole. One that is
// not whole is removed.
func (c *Cache) object(key string) (string, bool) {
	path := c.objectPath(key)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	if !sealed(data) {
		os.Remove(path)
		return "", false
	}
	now := time.Now()
	os.Chtimes(path, now, now) // for Trim; a read-only cache is still a cache
	return path, true
}

// adopt seals a compiled object and moves it to its place.
func (c *Cache) adopt(key, from string) (string, error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(from, seal(data), 0o700); err != nil {
		return "", err
	}
	to := c.objectPath(key)
	return to, os.Rename(from, to)
}

// The seal follows the object in its file, where no loader looks.
const sealMark = "gridloom"

func seal(object []byte) []byte {
	sum := sha256.Sum256(object)
	return slices.Concat(object, sum[:], []byte(sealMark))
}

func sealed(data []byte) bool {
	n := len(data) - sha256.Size - len(sealMark)
	if n <= 0 || string(data[n+sha256.Size:]) != sealMark {
		return false
	}
	sum := sha256.Sum256(data[:n])
	return bytes.Equal(sum[:], data[n:n+sha256.Size])
}

// leave writes a source that did not compile where the user can look at it.
func (c *Cache) leave(key string, text []byte) string {
	name := "failed-" + key[:16] + ".c"
	for _, dir := range []string{c.Dir, os.TempDir()} {
		if c.temporary && dir == c.Dir {
			continue // it is about to be removed
		}
		path := filepath.Join(dir, name)
		if os.WriteFile(path, text, 0o600) == nil {
			return path
		}
	}
	return ""
}

// read and write keep small notes; a nil cache forgets them.
func (c *Cache) read(name string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(c.Dir, name))
	return data, err == nil
}

func (c *Cache) write(name string, data []byte) {
	if c == nil {
		return
	}
	f, err := os.CreateTemp(c.Dir, "tmp-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.Dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

// Trim removes the files that were not used for the longest time until the
// cache takes at most that many bytes.
func (c *Cache) Trim(most int64) error {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if total <= most {
			break
		}
		if err := os.Remove(filepath.Join(c.Dir, f.Name())); err != nil && !os.IsNotExist(err) {
			return err
		}
		total -= f.Size()
	}
	return nil
}

// digest names a list of texts; no two lists share a name because their parts
// run together.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		io.WriteString(h, p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
