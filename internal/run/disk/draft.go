package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Draft is a temporary file beside the one whose name it is to take.
type Draft struct {
	*os.File
	target string
}

// drafts are the names of all that are being written; abandoned says that there
// are to be no more.
var drafts struct {
	sync.Mutex
	names     map[string]bool
	abandoned bool
}

// ErrAbandoned is why nothing is written any more.
var ErrAbandoned = errors.New("the process ends")

// Abandon removes all drafts, for a process that has to end at once. What is
// being written fails from then on.
func Abandon() {
	drafts.Lock()
	defer drafts.Unlock()
	drafts.abandoned = true
	for name := range drafts.names {
		os.Remove(name)
	}
}

// Create begins a draft of a file, which is to have that mode. Drafts of the
// same file that killed processes have left are removed.
func Create(target string, mode fs.FileMode) (*Draft, error) {
	folder, base := filepath.Split(target)
	for _, name := range leftBeside(folder, base) {
		sweepFile(filepath.Join(folder, name))
	}
	for n := 0; ; n++ {
		// The process's number keeps two processes apart; n passes over what
		// an earlier one with the same number was killed in.
		name := fmt.Sprintf("%s.%s.%d-%d.tmp", folder, base, os.Getpid(), n)
		file, err := open(name, mode)
		if errors.Is(err, fs.ErrExist) && n < 10000 {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Another process may have taken it for left, before it was locked.
		if _, taken := lock(file); taken || !named(name, file) {
			forget(name)
			file.Close()
			continue
		}
		return &Draft{file, target}, nil
	}
}

// open creates a file that Abandon knows.
func open(name string, mode fs.FileMode) (*os.File, error) {
	drafts.Lock()
	defer drafts.Unlock()
	if drafts.abandoned {
		return nil, ErrAbandoned
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		if drafts.names == nil {
			drafts.names = map[string]bool{}
		}
		drafts.names[name] = true
	}
	return file, err
}

func forget(name string) {
	drafts.Lock()
	defer drafts.Unlock()
	delete(drafts.names, name)
}

// Flush brings what was written to the disk, so that the file is whole even
// after a power failure. Some file systems report a full disk only here.
func (d *Draft) Flush() error { return flush(d.File) }

var toDisk = (*os.File).Sync // tests look at the order

// flush ignores that some files and folders cannot be flushed.
func flush(f *os.File) error {
	err := toDisk(f)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// Commit gives the draft its name. The file that had it before is gone. What is
// to last is flushed first; FlushFolder makes the name last, too.
func (d *Draft) Commit(lasting bool) error {
	if lasting {
		if err := d.Flush(); err != nil {
			return err
		}
	}
	_, err := Publish([]*Draft{d})
	return err
}

// Publish gives drafts their names, and returns how many have got them. Abandon
// waits until all have.
func Publish(list []*Draft) (int, error) {
	drafts.Lock()
	defer drafts.Unlock()
	for n, d := range list {
		if err := os.Rename(d.Name(), d.target); err != nil {
			return n, err
		}
		delete(drafts.names, d.Name())
	}
	var failed error
	for _, d := range list {
		failed = errors.Join(failed, d.File.Close())
	}
	return len(list), failed
}

// Discard removes the draft.
func (d *Draft) Discard() {
	os.Remove(d.Name())
	forget(d.Name())
	d.File.Close()
}

// FlushFolder makes names in a folder outlast a power failure. Where that cannot
// be, the file under each name is whole nevertheless.
func FlushFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		flush(f)
		f.Close()
	}
}

// Replace gives a file new content at once. Lasting content outlasts a power
// failure, which takes time; without that the file may be damaged by one.
func Replace(path string, content []byte, mode fs.FileMode, lasting bool) error {
	d, err := Create(path, mode)
	if err != nil {
		return err
	}
	_, err = d.Write(content)
	if err == nil {
		err = d.Commit(lasting)
	}
	if err != nil {
		d.Discard()
	} else if lasting {
		FlushFolder(filepath.Dir(path))
	}
	return err
}

// left are the drafts that were in a folder when this process first wrote to it,
// by folder. Series have many files in one.
var left sync.Map

var draftName = regexp.MustCompile(`^\..+\.\d+-\d+\.tmp$`)

// leftBeside lists the drafts of a file that earlier processes may have left.
func leftBeside(folder, base string) []string {
	list, ok := left.Load(folder)
	if !ok {
		list, _ = left.LoadOrStore(folder, draftsIn(folder))
	}
	var names []string
	for _, name := range list.([]string) {
		rest, ok := strings.CutPrefix(name, "."+base+".")
		if ok && draftName.MatchString(".x."+rest) {
			names = append(names, name)
		}
	}
	return names
}

func draftsIn(folder string) []string {
	entries, _ := os.ReadDir(filepath.Clean(folder)) // what cannot be listed cannot be removed
	var names []string
	for _, e := range entries {
		if draftName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}
