package gridio

import (
	"os"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// content is what a format found in a file: checked, but not yet read.
type content struct {
	kind  types.Type
	shape []int
	fill  func(dst []byte) error
}

// File is an open file whose cells are yet to be read. All its claims have
// been checked.
type File struct {
	Type  types.Type // of the cells as [File.ReadInto] delivers them
	Shape []int

	path string
	file *os.File
	fill func(dst []byte) error
}

// CheckRead reports whether the ending of path names a format that can be
// read, whatever lies on the disk.
func CheckRead(path string) error {
	_, err := formatOf(path, "read", readable)
	return at(path, err)
}

// Open opens a grid's file, in the format that its ending names, and refuses
// it if it is not what the caller wants. It allocates nothing of the size of
// the grid.
func Open(path string, want Want) (*File, error) {
	f, err := open(path, want)
	return f, at(path, err)
}

func open(path string, want Want) (*File, error) {
	form, err := formatOf(path, "read", readable)
	if err != nil {
		return nil, err
	}
	// Looked at before it is opened: opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, refuse("it is a folder")
	case !info.Mode().IsRegular():
		return nil, refuse("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, err
	}
	c, err := form.open(file, info.Size(), want)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &File{Type: c.kind, Shape: c.shape, path: path, file: file, fill: c.fill}, nil
}

// Bytes returns the memory that the cells take.
func (f *File) Bytes() int64 {
	n, err := Bytes(f.Type, f.Shape)
	if err != nil {
		panic("gridio: an open file's shape was not checked: " + err.Error())
	}
	return n
}

// ReadInto reads the cells in C order into dst, which has f.Bytes bytes. After
// an error dst holds a part of the file or nothing of it.
func (f *File) ReadInto(dst []byte) error {
	if int64(len(dst)) != f.Bytes() {
		return at(f.path, refuse("its cells take %d bytes, and there is room for %d", f.Bytes(), len(dst)))
	}
	return at(f.path, f.fill(dst))
}

// Close closes the file.
func (f *File) Close() error { return at(f.path, f.file.Close()) }

// Read reads a whole grid.
func Read(path string, want Want) (*Array, error) {
	f, err := Open(path, want)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &Array{Type: f.Type, Shape: slices.Clone(f.Shape), Data: alloc(f.Bytes())}
	if err := f.ReadInto(a.Data); err != nil {
		return nil, err
	}
	return a, nil
}
