package gridio

import (
	"fmt"
	"io"
	"os"
)

// What a user names as a small file may be a device without an end, or not the
// file that was meant. No more is read of it than it may have.

// ReadSmall returns the content of a file that has at most so many bytes.
func ReadSmall(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, at(path, err)
	}
	defer f.Close()
	text, err := readAll(f, most)
	return text, at(path, err)
}

// readAll returns all that there is to read, if that is at most so many bytes.
func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, refuse("it has more than %s, which is the most that is read of such a file", binaryUnits(most))
	}
	return text, err
}

// binaryUnits writes a number of bytes: "4 GiB", "1 MiB", "100 bytes".
func binaryUnits(n int64) string {
	for shift, unit := range []string{"GiB", "MiB", "KiB"} {
		if k := int64(1) << (30 - 10*shift); n >= k && n%k == 0 {
			return fmt.Sprintf("%d %s", n/k, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Portions passes on a text that is read part by part, each of which has a limit.
// A few bytes that are packed well become a text without end: one that has to be
// held whole is refused before memory runs out.
type Portions struct {
	r     io.Reader
	most  int64
	what  string // one part, in words
	left  int64
	all   int64 // bytes that may follow, in all parts
	limit int64
}

// NewPortions returns a reader of parts of at most most bytes, together at most
// all. What names one: "one configuration".
func NewPortions(r io.Reader, what string, most, all int64) *Portions {
	return &Portions{r: r, most: most, what: what, left: most, all: all, limit: all}
}

// Next begins another part.
func (p *Portions) Next() { p.left = p.most }

func (p *Portions) Read(b []byte) (int, error) {
	switch {
	case p.left <= 0:
		return 0, fmt.Errorf("%s takes more than %s", p.what, binaryUnits(p.most))
	case p.all <= 0:
		return 0, fmt.Errorf("there is more than %s of text, which is the most that is read of such a file",
			binaryUnits(p.limit))
	}
	n, err := p.r.Read(b[:min(int64(len(b)), p.left, p.all)])
	p.left -= int64(n)
	p.all -= int64(n)
	return n, err
}
