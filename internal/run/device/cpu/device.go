package cpu

import (
	"unsafe"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Open returns the processor that the calling thread runs on.
func Open() device.Device { return &processor{} }

type processor struct {
	libraries []*library
	regions   []*memory.Region
	blocks    []byte // what is left for argument blocks
}

func (p *processor) Load(image string) (device.Library, error) {
	l, err := load(p, image)
	if err != nil {
		return nil, err
	}
	p.libraries = append(p.libraries, l)
	return l, nil
}

// anonymous returns memory that lives until Close.
func (p *processor) anonymous(bytes int64) ([]byte, error) {
	r, err := memory.Anonymous(bytes)
	if err != nil {
		return nil, err
	}
	p.regions = append(p.regions, r)
	return r.Bytes(), nil
}

// block returns memory for a few words that lives until Close.
func (p *processor) block(bytes int) ([]byte, error) {
	if bytes > len(p.blocks) {
		more, err := p.anonymous(int64(max(bytes, 64<<10)))
		if err != nil {
			return nil, err
		}
		p.blocks = more
	}
	b := p.blocks[:bytes]
	p.blocks = p.blocks[bytes:]
	return b, nil
}

func (p *processor) Share(host []byte) (device.Buffer, error) {
	return &buffer{host: host, own: host}, nil
}

// Copy returns memory that lies in cache lines as the host's does.
func (p *processor) Copy(host []byte) (device.Buffer, error) {
	phase := int64(uintptr(unsafe.Pointer(unsafe.SliceData(host))) % memory.Line)
	own, err := p.anonymous(phase + int64(len(host)))
	if err != nil {
		return nil, err
	}
	return &buffer{host: host, own: own[phase:]}, nil
}

func (p *processor) Alloc(bytes int64) (device.Buffer, error) { return p.AllocAt(bytes, 0) }

// AllocAt implements device.Placer.
func (p *processor) AllocAt(bytes, phase int64) (device.Buffer, error) {
	own, err := p.anonymous(phase + bytes)
	if err != nil {
		return nil, err
	}
	return &buffer{own: own[phase:], region: p.regions[len(p.regions)-1]}, nil
}

// Sync has nothing to wait for: a launch returns when its kernel does.
func (p *processor) Sync() error { return nil }

func (p *processor) Close() error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, l := range p.libraries {
		keep(l.Close())
	}
	for _, r := range p.regions {
		keep(r.Close())
	}
	p.libraries, p.regions, p.blocks = nil, nil, nil
	return first
}

// buffer is memory of this process, outside Go's heap.
type buffer struct {
	host []byte // nil if there is no host side
	own  []byte // what kernels work on; host itself if that is shared
	// region is the memory that Free gives back before the device is closed; nil if there is none.
	region *memory.Region
}

// Free gives the memory back. Neither the buffer nor launches with it must be used any more.
func (b *buffer) Free() error {
	if b.region == nil {
		return nil
	}
	r := b.region
	b.own, b.region = nil, nil
	return r.Close()
}

func (b *buffer) address() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b.own))) }

func (b *buffer) separate() bool {
	return unsafe.SliceData(b.host) != unsafe.SliceData(b.own)
}

func (b *buffer) Push() error {
	if b.separate() {
		copy(b.own, b.host)
	}
	return nil
}

func (b *buffer) Pull() error {
	if b.separate() {
		copy(b.host, b.own)
	}
	return nil
}
