package gridio

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/disk"
)

// Options are the choices that formats leave to the writer; each looks at its
// own. The zero value is a good choice everywhere.
type Options struct {
	Name    string  // the grid's name, where the file states one (.vti)
	Fortran bool    // .npy: store the first index fastest; reading gives the same array
	Picture Picture // .png
	VTI     VTI     // .vti
}

// Write writes a grid in the format that the ending of path names. The file
// appears complete or not at all.
func Write(path string, a *Array, o Options) error {
	f, err := formatOf(path, "written", writable)
	if err != nil {
		return at(path, err)
	}
	if err := a.check(); err != nil {
		return at(path, err)
	}
	if err := f.accepts(a.Type, a.Shape, o); err != nil {
		return at(path, err)
	}
	return WriteFile(path, func(w io.Writer) error { return f.write(w, a, o) })
}

// CheckFormat reports whether the ending of path names a format that can hold
// such a grid, whatever lies on the disk.
func CheckFormat(path string, t types.Type, shape []int, o Options) error {
	f, err := formatOf(path, "written", writable)
	if err != nil {
		return at(path, err)
	}
	return at(path, f.accepts(t, shape, o))
}

// CheckWrite reports whether Write could write such a grid to path, so that
// work of hours is not lost to a misspelt folder. It leaves nothing behind.
func CheckWrite(path string, t types.Type, shape []int, o Options) error {
	if err := CheckFormat(path, t, shape, o); err != nil {
		return err
	}
	return CheckFile(path)
}

// CheckFile reports whether WriteFile could write to path. It leaves nothing
// behind.
func CheckFile(path string) error {
	target, _, err := resolve(path)
	if err != nil {
		return at(path, err)
	}
	draft, err := createBeside(target, 0o600)
	if err != nil {
		return at(path, err)
	}
	draft.Discard()
	return nil
}

// WriteFile gives path the content that write writes. The content goes to a
// temporary file in the same folder, which takes the name path once it is
// complete, and on the disk; after any error the folder is as it was.
func WriteFile(path string, write func(w io.Writer) error) error {
	return WriteFiles([]string{path}, func(_ int, w io.Writer) error { return write(w) })
}

// WriteFiles is WriteFile for several files that belong together: all are
// complete before the first takes its name.
func WriteFiles(paths []string, write func(i int, w io.Writer) error) error {
	var pending []*draft
	defer func() {
		// Also when write panics.
		for _, d := range pending {
			d.Discard()
		}
	}()
	for i, path := range paths {
		d, err := newDraft(path)
		if err != nil {
			return at(path, err)
		}
		pending = append(pending, d)
		if err := d.fill(func(w io.Writer) error { return write(i, w) }); err != nil {
			return at(path, err)
		}
	}
	var complete []*disk.Draft
	for _, d := range pending {
		complete = append(complete, d.Draft)
	}
	published, err := disk.Publish(complete)
	folders := map[string]bool{}
	for _, d := range pending[:published] {
		folders[filepath.Dir(d.Name())] = true
	}
	if pending = pending[published:]; err != nil && len(pending) > 0 {
		err = at(pending[0].path, err)
	}
	for folder := range folders {
		disk.FlushFolder(folder)
	}
	return err
}

// draft is a temporary file that is to take another's name.
type draft struct {
	*disk.Draft
	path string
}

func newDraft(path string) (*draft, error) {
	target, mode, err := resolve(path)
	if err != nil {
		return nil, err
	}
	d, err := createBeside(target, mode)
	if err != nil {
		return nil, err
	}
	return &draft{d, path}, nil
}

func (d *draft) fill(write func(w io.Writer) error) error {
	buffered := bufio.NewWriterSize(d, chunk)
	if err := errors.Join(write(buffered), buffered.Flush()); err != nil {
		return first(err)
	}
	return d.Flush()
}

// first returns the first of the errors that were joined: the buffer repeats
// what write has already met.
func first(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

// resolve follows links to the file that is to be written and returns the
// mode that it shall have. It refuses what a rename would override although
// plain writing could not.
func resolve(path string) (target string, mode fs.FileMode, err error) {
	target = path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, 0o666, nil
	case err != nil:
		return "", 0, err
	case info.IsDir():
		return "", 0, refuse("it is a folder")
	case !info.Mode().IsRegular():
		return "", 0, refuse("it is not a regular file")
	case info.Mode().Perm()&0o200 == 0:
		return "", 0, refuse("it is write-protected")
	}
	return target, info.Mode().Perm(), nil
}

// createBeside begins a draft of a file.
func createBeside(target string, mode fs.FileMode) (*disk.Draft, error) {
	d, err := disk.Create(target, mode)
	if err == nil {
		return d, nil
	}
	folder, _ := filepath.Split(target)
	if errors.Is(err, fs.ErrNotExist) {
		e := refuse("there is no folder %s", filepath.Clean(folder))
		e.Err = err
		return nil, e.hint("create it first")
	}
	e := refuse("nothing can be written to the folder %s: %s", filepath.Clean(folder), cause(err))
	e.Err = err
	return nil, e
}
