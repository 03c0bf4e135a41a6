package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gridloom/gridloom/internal/run/gridio"
)

// Bounds on what is read, so that no file takes more memory than its
// configurations need.
const (
	maxTrials = 4 << 20
	maxParams = 256
	maxValues = 1 << 15  // of a parameter
	maxPart   = 16 << 20 // bytes of one configuration, or of what else is between two
)

// maxText is how much text a recording has: enough for maxTrials of them.
const maxText = 64 << 30

func parts(in io.Reader) *gridio.Portions {
	return gridio.NewPortions(in, "one configuration", maxPart, maxText)
}

// ReadFile reads a recording; d may be nil. Errors begin with the file's name.
func ReadFile(path string, d *Definition) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, gridio.Named(path, err)
	}
	defer f.Close()
	r, err := Read(f, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.Name = strings.TrimSuffix(filepath.Base(path), ".gz")
	r.Name = strings.TrimSuffix(r.Name, filepath.Ext(r.Name))
	return r, nil
}

// Read reads a recording: a cache of Kernel Tuner, T4 results or CSV, as it is
// or compressed by gzip. With the definition of the space, parameters get their
// defaults and the configurations are held to its conditions.
func Read(r io.Reader, d *Definition) (*Recording, error) {
	in, err := open(r)
	if err != nil {
		return nil, err
	}
	c := newCollector(d)
	first, err := peek(in)
	switch {
	case err == io.EOF:
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, err
	case first == '{':
		err = readJSON(in, c)
	case first == '[':
		err = errors.New("a JSON list; recordings are an object with \"cache\" (Kernel Tuner) or \"results\" (T4)")
	default:
		err = readCSV(in, c)
	}
	if err != nil {
		return nil, err
	}
	return c.recording()
}

// open undoes compression.
func open(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	magic, _ := in.Peek(2)
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, broken(err)
	}
	return bufio.NewReaderSize(&inflated{z: z}, 1<<16), nil
}

// inflated tells a compressed stream that breaks off from a text that does.
type inflated struct {
	z    io.Reader
	read int64
}

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.z.Read(p)
	i.read += int64(n)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("after %d bytes of text: %w", i.read, broken(err))
	}
	return n, err
}

// errGzip is a stream that cannot be decompressed.
var errGzip = errors.New("the gzip data is broken")

func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is cut off; fetch or copy the file again", errGzip)
	}
	return fmt.Errorf("%w: %v", errGzip, err)
}

// peek returns the first byte that is no space.
func peek(in *bufio.Reader) (byte, error) {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		if _, err := in.Discard(3); err != nil {
			return 0, err
		}
	}
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b)) {
			return b, in.UnreadByte()
		}
	}
}

// plain replaces what Python writes for numbers that JSON has not (NaN,
// Infinity, -Infinity) by null.
type plain struct {
	in      *bufio.Reader
	pending string
	quoted  bool
	escaped bool
	failed  error // for good
}

func (n *plain) Read(p []byte) (int, error) {
	if n.failed != nil {
		return 0, n.failed
	}
	for i := range p {
		if n.pending != "" {
			p[i], n.pending = n.pending[0], n.pending[1:]
			continue
		}
		b, err := n.in.ReadByte()
		if err != nil {
			return i, err
		}
		switch {
		case n.escaped:
			n.escaped = false
		case n.quoted:
			n.escaped = b == '\\'
			n.quoted = b != '"'
		case b == '"':
			n.quoted = true
		case b == 'N' || b == 'I' || b == '-':
			name := false
			if name, n.failed = n.named(b); n.failed != nil {
				return i, n.failed
			}
			if name {
				b, n.pending = 'n', "ull"
			}
		}
		p[i] = b
	}
	return len(p), nil
}

// named reports whether the name of a number begins with b, and if so passes
// over it. It is an error if the text ends within what may be one.
func (n *plain) named(b byte) (bool, error) {
	for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
		if name[0] != b {
			continue
		}
		rest, err := n.in.Peek(len(name) - 1)
		if string(rest) == name[1:] {
			_, err := n.in.Discard(len(rest))
			return true, err
		}
		if err != nil && strings.HasPrefix(name[1:], string(rest)) {
			return false, err
		}
	}
	return false, nil
}
