package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// writer is one --out argument.
type writer struct {
	gridFile
	bound   *ir.Binding
	name    gridio.Template
	options gridio.Options
	written []string       // files, in order
	frames  []gridio.Frame // of a series with an index
}

// newWriters reads --out arguments and checks that each can be written.
func newWriters(b *ir.Binding, args []string, f *pictureFlags) ([]*writer, error) {
	files, err := gridFiles(b.Program, "--out", args)
	if err != nil {
		return nil, err
	}
	var outs []*writer
	paths := map[string]bool{}
	for _, file := range files {
		w := &writer{gridFile: file, bound: b, name: gridio.Template(file.path)}
		if paths[filepath.Clean(file.path)] {
			return nil, usage("--out writes %s twice", file.path)
		}
		paths[filepath.Clean(file.path)] = true
		if err := w.name.Check(); err != nil {
			return nil, misuse("--out", err)
		}
		w.options.Name = file.grid.Name
		if w.isPicture() {
			if w.options.Picture, err = f.picture(b, file.grid); err != nil {
				return nil, err
			}
		}
		path, shape := w.name.Expand(0), b.Shape(file.grid.Dims)
		if err := gridio.CheckFormat(path, file.grid.Type, shape, w.options); err != nil {
			return nil, misuse("--out", err)
		}
		if err := gridio.CheckFile(path); err != nil {
			return nil, err
		}
		outs = append(outs, w)
	}
	if err := f.used(b.Program, outs); err != nil {
		return nil, err
	}
	return outs, nil
}

func (w *writer) ending() string  { return strings.ToLower(filepath.Ext(w.path)) }
func (w *writer) isPicture() bool { return w.ending() == ".png" }

// indexed reports whether the files are a series with an index.
func (w *writer) indexed() bool { return w.name.HasStep() && w.ending() == ".vti" }

// write writes the grid as it is now, and adds it to the series' index.
func (w *writer) write(r exec.Runner, step int64) error {
	cells, err := r.Grid(w.grid.Name)
	if err != nil {
		return err
	}
	path := w.name.Expand(int(step))
	if step > 0 || w.name.HasStep() {
		w.options.Picture.Title = fmt.Sprintf("%s after %s", w.grid.Name, count(step, "iteration"))
	}
	array := &gridio.Array{Type: w.grid.Type, Shape: w.bound.Shape(w.grid.Dims), Data: cells}
	if err := gridio.Write(path, array, w.options); err != nil {
		return err
	}
	if slices.Contains(w.written, path) {
		return nil // the last of a series may be due for two reasons
	}
	w.written = append(w.written, path)
	if !w.indexed() {
		return nil
	}
	if n := len(w.frames); n == 0 || w.frames[n-1].Time != float64(step) {
		w.frames = append(w.frames, gridio.Frame{Time: float64(step), File: path})
	}
	return gridio.WriteIndex(w.name.Index(), w.frames)
}

// forget makes a writer as good as new: everything is written once more.
func (w *writer) forget() { w.written, w.frames = nil, nil }

// goOn takes up a series after some steps: what an earlier run has written of
// it belongs to the index.
func (w *writer) goOn(every, steps int64) {
	if every == 0 || !w.indexed() {
		return
	}
	for step := int64(0); step <= steps; step += every {
		path := w.name.Expand(int(step))
		if _, err := os.Stat(path); err == nil {
			w.frames = append(w.frames, gridio.Frame{Time: float64(step), File: path})
		}
	}
}
