package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// writeTree writes files into a folder and folders in it: all of them or none.
// The folder may be a link, as the user has named it. What lies in it may not:
// who else can write there could send generated files over the user's own.
func writeTree(dir string, files []emit.File) error {
	var paths, made []string
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		paths = append(paths, path)
		for _, folder := range []string{dir, filepath.Dir(path)} {
			if _, err := os.Stat(folder); err != nil && !slices.Contains(made, folder) {
				made = append(made, folder)
			}
		}
		if folder := filepath.Dir(path); folder != filepath.Clean(dir) {
			if err := noLink(folder); err != nil {
				return err
			}
		}
		if err := noLink(path); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return gridio.Named(filepath.Dir(path), err)
		}
	}
	err := gridio.WriteFiles(paths, func(i int, w io.Writer) error {
		_, err := io.WriteString(w, files[i].Text)
		return err
	})
	if err != nil {
		for _, folder := range slices.Backward(made) {
			os.Remove(folder) // those that are empty
		}
	}
	return err
}

// noLink refuses a name that the user has not given, if a link has it.
func noLink(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // what else is wrong is found when it is written
	}
	return &gridio.Error{
		Path: path, Text: "it is a link; what is generated does not follow links",
		Hint: "remove it, or name another folder",
	}
}
