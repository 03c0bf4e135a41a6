package disk

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Folder is a temporary folder of this process.
type Folder struct {
	Path string
	lock *os.File
}

// lockName is the file in a temporary folder that its process has locked.
const lockName = ".lock"

// NewFolder makes a folder in dir, or for "" where temporary files go, that no
// other user can look into. Its name begins with prefix. The first folder of a
// process takes the place of those with that prefix that killed processes have left.
func NewFolder(dir, prefix string) (*Folder, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if _, done := swept.LoadOrStore(filepath.Join(dir, prefix), true); !done {
		Sweep(dir, prefix)
	}
	for {
		path, err := os.MkdirTemp(dir, prefix+"*")
		if err != nil {
			return nil, err
		}
		f := &Folder{Path: path}
		f.lock, err = os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
		if os.IsNotExist(err) {
			continue // another process has taken it for left
		}
		if err != nil {
			os.RemoveAll(path)
			return nil, err
		}
		if _, taken := lock(f.lock); !taken && named(f.lock.Name(), f.lock) {
			return f, nil
		}
		f.lock.Close()
	}
}

// swept are the beginnings of folders' names that were looked for in this process.
var swept sync.Map

// Remove removes the folder and all that is in it.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	f.lock.Close()
	return err
}

// Sweep removes the temporary folders and files in dir whose names begin with
// prefix, which are this user's and which no process uses.
func Sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir) // what cannot be listed cannot be removed
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !strings.HasPrefix(e.Name(), prefix):
		case e.IsDir():
			sweepFolder(path)
		default:
			sweepFile(path)
		}
	}
}

// SweepDrafts removes the drafts of all files of a folder that no process uses.
func SweepDrafts(dir string) {
	for _, name := range draftsIn(dir) {
		sweepFile(filepath.Join(dir, name))
	}
}

func sweepFolder(path string) {
	if info, err := os.Lstat(path); err != nil || !ours(info) {
		return
	}
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if held, _ := lock(f); held && named(f.Name(), f) {
		os.RemoveAll(path)
	}
}

func sweepFile(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !ours(info) {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if held, _ := lock(f); held && named(path, f) {
		os.Remove(path)
	}
}
