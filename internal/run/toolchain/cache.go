package toolchain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Cache is a folder of compiled objects, named by the digest of all that they
// depend on. Processes share it without locks: a file appears whole, by being
// renamed into place, and carries a digest of its own contents, so that a
// damaged one is noticed and made anew. What is in it is loaded, so nobody else may
// be able to write to it.
type Cache struct {
	Dir  string
	Note string // why it is not where it should be; "" if it is

	temporary *disk.Folder // that Dir is; nil if it stays

	mutex sync.Mutex
	spare *disk.Folder // takes what the disk of Dir has no room for; nil while it has
	full  string       // says so
}

// inUse begins the names of folders in which something is compiled.
const inUse = "tmp-"

// OpenCache returns the cache in a folder, or for "" in the user's cache
// folder. Where that cannot be written to, the cache is a temporary folder
// that Close removes, and Note says so. What killed processes have left in it is removed.
func OpenCache(dir string) (*Cache, error) {
	var err error
	if dir == "" {
		if dir, err = os.UserCacheDir(); err == nil {
			dir = filepath.Join(dir, "gridloom")
		}
	}
	if err == nil {
		dir, err = filepath.Abs(dir) // compilers work in other folders
	}
	if err == nil {
		err = usable(dir)
	}
	if err == nil {
		disk.Sweep(dir, inUse)
		disk.SweepDrafts(dir)
		return &Cache{Dir: dir}, nil
	}
	temp, terr := elsewhere()
	if terr != nil {
		return nil, fmt.Errorf("compiled code can be kept nowhere: %w; %w", err, terr)
	}
	return &Cache{Dir: temp.Path, Note: fmt.Sprintf("compiled code is not kept for the next time: %v", err),
		temporary: temp}, nil
}

// elsewhere makes a folder for what a cache cannot take.
func elsewhere() (*disk.Folder, error) { return disk.NewFolder("", "gridloom-cache-") }

// usable makes the folder if need be, tries to write to it, and refuses one to
// which others could write, too.
func usable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !disk.Private(info) {
		return fmt.Errorf(
			"%s belongs to another user, or others can write to it (mode %03o), and code from it would be run; chmod "+
				"go-w makes it safe if it is yours", dir, info.Mode().Perm())
	}
	probe, err := disk.NewFolder(dir, inUse)
	if err != nil {
		return err
	}
	return probe.Remove()
}

// Close removes what the cache has put into temporary folders.
func (c *Cache) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var errs []error
	for _, f := range []*disk.Folder{c.temporary, c.spare} {
		if f != nil {
			errs = append(errs, f.Remove())
		}
	}
	c.temporary, c.spare = nil, nil
	return errors.Join(errs...)
}

// Elsewhere says that the cache's disk has no room, so that what was compiled
// since is not kept; "" if it has.
func (c *Cache) Elsewhere() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.full
}

// within calls f with the cache's folder. If its disk has no room for what f
// writes, f is called once more with a temporary folder, as it is from then on.
func (c *Cache) within(f func(dir string) error) error {
	spare := c.spareDir()
	if spare == "" {
		err := f(c.Dir)
		if c.temporary != nil || !lacksRoom(err, c.Dir) {
			return err
		}
		var none error
		if spare, none = c.toSpare(); none != nil {
			return fmt.Errorf("the disk of %s is full, and there is no temporary folder: %w; %w", c.Dir, none, err)
		}
	}
	err := f(spare)
	if !lacksRoom(err, spare) {
		return err
	}
	return fmt.Errorf("there is no room in %s, and none in %s: %w", c.Dir, filepath.Dir(spare), err)
}

// lacksRoom reports whether something has failed in a folder because its disk is
// full. Compilers have many words for that.
func lacksRoom(err error, dir string) bool {
	return err != nil && (disk.LacksRoom(err) || verdict.LacksRoom(err.Error()) || disk.Full(dir))
}

func (c *Cache) spareDir() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.spare == nil {
		return ""
	}
	return c.spare.Path
}

func (c *Cache) toSpare() (string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.spare == nil {
		var err error
		if c.spare, err = elsewhere(); err != nil {
			return "", err
		}
		c.full = fmt.Sprintf(
			"compiled code is not kept for the next time: the disk of %s is full; it is in %s meanwhile", c.Dir,
			c.spare.Path)
	}
	return c.spare.Path, nil
}

// find returns the path of a file that is there and whole. One that is not whole
// is removed.
func (c *Cache) find(name string) (string, bool) {
	for _, dir := range []string{c.Dir, c.spareDir()} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, name)
		if _, err := Read(path); err != nil {
			if errors.Is(err, ErrDamaged) {
				os.Remove(path)
			}
			continue
		}
		now := time.Now()
		os.Chtimes(path, now, now) // for Trim; a read-only cache is still a cache
		return path, true
	}
	return "", false
}

func objectName(key string) string { return key + ".so" }

// adopt seals a compiled object and moves it to its place in a folder.
func adopt(dir, key, from string) (string, error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, objectName(key))
	return to, disk.Replace(to, seal(data), 0o700, false)
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

// leave writes a source that did not compile where the user can look at it, and
// returns its path; "" if it cannot be left.
func (c *Cache) leave(key string, text []byte) string {
	if c.temporary == nil {
		path := filepath.Join(c.Dir, "failed-"+key[:16]+".c")
		if disk.Replace(path, text, 0o600, false) == nil {
			return path
		}
	}
	return Leave(text, ".c")
}

// Leave writes a source that did not compile to a temporary file, whose name
// nobody can foresee, and returns its path; "" if it cannot be left.
func Leave(text []byte, ending string) string {
	f, err := os.CreateTemp("", "gridloom-failed-*"+ending)
	if err != nil {
		return ""
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err != nil || cerr != nil {
		os.Remove(f.Name())
		return ""
	}
	return f.Name()
}

// read and write keep small notes; a nil cache forgets them.
func (c *Cache) read(name string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	data, err := readPrivate(filepath.Join(c.Dir, name))
	return data, err == nil
}

func (c *Cache) write(name string, data []byte) {
	if c != nil {
		disk.Replace(filepath.Join(c.Dir, name), data, 0o600, false) // what cannot be kept is found out again
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
		// others are being written
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
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
