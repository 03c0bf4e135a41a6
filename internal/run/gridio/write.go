package gridio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/types"
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

// CheckWrite reports whether Write could write such a grid to path, so that
// work of hours is not lost to a misspelt folder. It leaves nothing behind.
func CheckWrite(path string, t types.Type, shape []int, o Options) error {
	f, err := formatOf(path, "written", writable)
	if err != nil {
		return at(path, err)
	}
	if err := f.accepts(t, shape, o); err != nil {
		return at(path, err)
	}
	target, _, err := resolve(path)
	if err != nil {
		return at(path, err)
	}
	file, err := createBeside(target, 0o600)
	if err != nil {
		return at(path, err)
	}
	file.Close()
	return at(path, os.Remove(file.Name()))
}

// WriteFile gives path the content that write writes. The content goes to a
// temporary file in the same folder, which takes the name path once it is
// complete; after any error the folder is as it was.
func WriteFile(path string, write func(w io.Writer) error) error {
	target, mode, err := resolve(path)
	if err != nil {
		return at(path, err)
	}
	file, err := createBeside(target, mode)
	if err != nil {
		return at(path, err)
	}
	done := false
	defer func() {
		// Also when write panics.
		if !done {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	buffered := bufio.NewWriterSize(file, chunk)
	if err := errors.Join(write(buffered), buffered.Flush()); err != nil {
		return at(path, first(err))
	}
	// Some file systems report a full disk only here.
	if err := file.Close(); err != nil {
		return at(path, err)
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return at(path, err)
	}
	done = true
	return nil
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

// createBeside creates a temporary file in the folder of target.
func createBeside(target string, mode fs.FileMode) (*os.File, error) {
	folder, base := filepath.Split(target)
	for n := 0; ; n++ {
		// The process's number keeps two runs apart; n passes over what an
		// earlier one with the same number was killed in.
		name := fmt.Sprintf("%s.%s.%d-%d.tmp", folder, base, os.Getpid(), n)
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, fs.ErrExist) && n < 10000:
			continue
		case errors.Is(err, fs.ErrNotExist):
			e := refuse("there is no folder %s", filepath.Clean(folder))
			e.Err = err
			return nil, e.hint("create it first")
		}
		e := refuse("nothing can be written to the folder %s: %s", filepath.Clean(folder), cause(err))
		e.Err = err
		return nil, e
	}
}
