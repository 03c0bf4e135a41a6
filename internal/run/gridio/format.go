package gridio

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// format is one kind of file.
type format struct {
	extensions []string
	// open checks everything that can be known without reading the cells.
	// It is nil where the format is only written.
	open func(r io.ReaderAt, size int64, want Want) (*content, error)
	// write is nil where the format is only read.
	write func(w io.Writer, a *Array, o Options) error
	// accepts refuses what write cannot take, before there is an array.
	accepts func(t types.Type, shape []int, o Options) error
}

var formats = []format{
	{extensions: []string{".npy"}, open: openNpy, write: writeNpy, accepts: acceptsAll},
	{extensions: []string{".raw", ".bin"}, open: openRaw, write: writeRaw, accepts: acceptsAll},
	{extensions: []string{".png"}, open: openImage, write: writePicture, accepts: acceptsPicture},
	{extensions: []string{".jpg", ".jpeg"}, open: openImage},
	{extensions: []string{".vti"}, write: writeVTI, accepts: acceptsVTI},
}

func acceptsAll(types.Type, []int, Options) error { return nil }

// formatOf finds the format that a file's name asks for, among those that
// can be used as wanted.
func formatOf(path, verb string, usable func(format) bool) (format, error) {
	extension := strings.ToLower(filepath.Ext(path))
	var known []string
	for _, f := range formats {
		if !usable(f) {
			continue
		}
		if slices.Contains(f.extensions, extension) {
			return f, nil
		}
		known = append(known, f.extensions...)
	}
	e := refuse("files ending in %q cannot be %s", extension, verb)
	if extension == "" {
		e = refuse("its name has no ending that tells its format")
	}
	return format{}, e.hint("known endings: %s", strings.Join(known, " "))
}

func readable(f format) bool { return f.open != nil }
func writable(f format) bool { return f.write != nil }
