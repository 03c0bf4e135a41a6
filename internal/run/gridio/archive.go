package gridio

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// manifestName is the archive's entry that is no grid.
const manifestName = "manifest.json"

// maxManifest bounds the manifest's text.
const maxManifest = 1 << 20

// WriteArchive writes several grids and a manifest, which is stored as JSON,
// to one file: a .npz as NumPy reads it, uncompressed. It appears complete or
// not at all.
func WriteArchive(path string, manifest any, fields []Field) error {
	return WriteFile(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		text, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			return err
		}
		entry, err := z.CreateHeader(&zip.FileHeader{Name: manifestName, Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
		for _, f := range fields {
			entry, err := z.CreateHeader(&zip.FileHeader{Name: f.Name + ".npy", Method: zip.Store})
			if err != nil {
				return err
			}
			if err := writeNpy(entry, f.Array, Options{}); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// Archive is an open file that WriteArchive wrote.
type Archive struct {
	path string
	file *os.File
	zip  *zip.Reader
}

// OpenArchive opens an archive and reads its manifest.
func OpenArchive(path string, manifest any) (*Archive, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, at(path, err)
	}
	a := &Archive{path: path, file: file}
	if err := a.open(manifest); err != nil {
		file.Close()
		return nil, at(path, err)
	}
	return a, nil
}

func (a *Archive) open(manifest any) error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	if a.zip, err = zip.NewReader(a.file, info.Size()); err != nil {
		return refuse("it is no checkpoint, or a damaged one").hint(
			"checkpoints are written whole; was it copied in part?")
	}
	f := a.entry(manifestName)
	if f == nil {
		return refuse("it is an archive, but no checkpoint: it has no %s", manifestName)
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil || len(text) > maxManifest {
		return refuse("its %s is damaged", manifestName)
	}
	if err := json.Unmarshal(text, manifest); err != nil {
		return refuse("its %s is damaged: %v", manifestName, err)
	}
	return nil
}

func (a *Archive) entry(name string) *zip.File {
	i := slices.IndexFunc(a.zip.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return a.zip.File[i]
}

// ReadInto reads the grid of that name into dst and checks its checksum.
func (a *Archive) ReadInto(want Want, dst []byte) error {
	return at(a.path, a.readInto(want, dst))
}

func (a *Archive) readInto(want Want, dst []byte) error {
	f := a.entry(want.Grid + ".npy")
	if f == nil {
		return refuse("it holds no grid %s", want.Grid)
	}
	if f.Method != zip.Store {
		return refuse("grid %s is compressed", want.Grid).hint("checkpoints are not meant to be packed anew")
	}
	start, err := f.DataOffset()
	if err != nil {
		return err
	}
	size := int64(f.UncompressedSize64)
	entry := io.NewSectionReader(a.file, start, size)
	sum := crc32.NewIEEE()
	if n, err := io.Copy(sum, entry); err != nil || n != size || sum.Sum32() != f.CRC32 {
		return refuse("grid %s is damaged", want.Grid)
	}
	c, err := openNpy(entry, size, want)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return refuse("grid %s: %s", want.Grid, e.Text)
		}
		return err
	}
	if n, err := Bytes(c.kind, c.shape); err != nil || n != int64(len(dst)) {
		return refuse("grid %s takes %d bytes, and there is room for %d", want.Grid, n, len(dst))
	}
	return c.fill(dst)
}

// Close closes the file.
func (a *Archive) Close() error { return at(a.path, a.file.Close()) }
