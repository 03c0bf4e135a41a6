package worker

import (
	"encoding/gob"
	"os"
	"sync"
)

// Link is one end of the conversation between parent and worker. Values that
// are sent are received at the other end in order, as gob encodes them. One
// goroutine may receive while any number send.
type Link struct {
	Files []*os.File // in a worker: what Options.Files held

	in      *os.File
	out     *os.File
	decoder *gob.Decoder
	mutex   sync.Mutex // guards encoder
	encoder *gob.Encoder
}

func newLink(in, out *os.File) *Link {
	return &Link{in: in, out: out, decoder: gob.NewDecoder(in), encoder: gob.NewEncoder(out)}
}

// Send sends a value.
func (l *Link) Send(v any) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.encoder.Encode(v)
}

// Receive waits for the next value and stores it in what v points at. It
// returns io.EOF when the other end is gone.
func (l *Link) Receive(v any) error { return l.decoder.Decode(v) }

func (l *Link) close() {
	l.in.Close()
	l.out.Close()
}
