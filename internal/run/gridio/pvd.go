package gridio

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
)

// Frame is one file of a time series.
type Frame struct {
	Time float64
	File string
}

// WriteIndex writes a .pvd file, which ParaView opens as one animation. It is
// rewritten whole when a frame is added, so that it is right at any time.
func WriteIndex(path string, frames []Frame) error {
	folder := filepath.Dir(path)
	return WriteFile(path, func(w io.Writer) error {
		fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n")
		fmt.Fprintf(w, "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n  <Collection>\n")
		for _, f := range frames {
			// Relative to the index, so that the folder can be moved.
			name, err := filepath.Rel(folder, f.File)
			if err != nil {
				name = f.File
			}
			fmt.Fprintf(w, "    <DataSet timestep=\"%s\" group=\"\" part=\"0\" file=\"%s\"/>\n",
				strconv.FormatFloat(f.Time, 'g', -1, 64), escape(filepath.ToSlash(name)))
		}
		_, err := fmt.Fprintf(w, "  </Collection>\n</VTKFile>\n")
		return err
	})
}
