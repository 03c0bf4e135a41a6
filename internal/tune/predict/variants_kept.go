package predict

import (
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/gridloom/gridloom/internal/run/gridio"
)

// KeepVariants does work that lowers variants. What a file has of them is not made again, and what is made is in the
// file afterwards, also where the work was interrupted: to lower all that a model learns from takes a core an hour.
// That is written as soon as ctx ends, since the work may take longer to end than a process is left. save runs what
// writes the file, for seconds, and may keep an interrupted process from ending before. The compiler may have changed
// since the file was written: of each kernel one variant is made anew, and where it differs the work fails, and the
// file stays as it is. Without a path nothing is kept.
func KeepVariants(ctx context.Context, path string, save func(write func() error) error, work func() error) error {
	if path == "" {
		return work()
	}
	if err := lowered.readFile(path); err != nil {
		return err
	}
	write := func() error {
		if lowered.unwritten() == 0 {
			return nil
		}
		return save(func() error { return gridio.WriteFile(path, lowered.write) })
	}
	early := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { early <- write() })
	failed := work()
	if !stop() {
		failed = errors.Join(failed, <-early)
	}
	if errors.Is(failed, errVariants) {
		return &gridio.Error{Path: path, Text: failed.Error(), Hint: "remove it, and it is made anew", Err: failed}
	}
	return errors.Join(failed, write())
}

// readFile reads the file of variants, if there is one.
func (d *described) readFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.readFrom(f); err != nil {
		return &gridio.Error{Path: path, Text: "these are no variants of Gridloom's: " + err.Error(),
			Hint: "remove it, and it is made anew"}
	}
	return nil
}

// mostVariantBytes bounds a file of variants once it is expanded.
const mostVariantBytes = 256 << 20

func (d *described) readFrom(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	var rows map[variantKey][]float64
	if err := gob.NewDecoder(io.LimitReader(z, mostVariantBytes)).Decode(&rows); err != nil {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.read == nil {
		d.read = map[variantKey]bool{}
	}
	for key, row := range rows {
		if _, ok := d.rows[key]; ok || len(d.rows) >= mostVariants {
			continue
		}
		if len(row) == 0 {
			row = nil
		}
		d.rows[key], d.read[key] = row, true
	}
	return nil
}

// unwritten is how many are in no file.
func (d *described) unwritten() int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.made
}

func (d *described) write(w io.Writer) error {
	z := gzip.NewWriter(w)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := gob.NewEncoder(z).Encode(d.rows); err != nil {
		return err
	}
	d.made = 0
	return z.Close()
}

// errVariants says that descriptions of variants that were read are not those that this Gridloom makes.
var errVariants = errors.New("another compiler has made what is kept of its variants")

// check makes a variant of a kernel anew, the first that was read, and reports whether it is the same, and whether no
// other of the kernel need be looked at.
func (d *described) check(kernel string, key variantKey, make func() []float64) (same, done bool) {
	d.mutex.Lock()
	right, read, row := d.right[kernel] || len(d.read) == 0, d.read[key], d.rows[key]
	d.mutex.Unlock()
	if right {
		return true, true
	}
	if !read {
		return true, false
	}
	if !slices.Equal(make(), row) {
		return false, true
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.right[kernel] = true
	return true, true
}
