package opencl

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// imageFormat is cl_image_format, and imageShape cl_image_desc for a buffer.
type imageFormat struct{ order, elements uint32 }

type imageShape struct {
	kind   uint32
	_      uint32
	width  uintptr
	_      [5]uintptr // other dimensions and pitches
	_      [2]uint32  // levels and samples
	memory handle
}

// image returns the buffer as an image of such texels.
func (b *Buffer) image(of device.Texel) (handle, error) {
	if h, ok := b.images[of]; ok {
		return h, nil
	}
	d := b.device
	p := &d.Properties
	n := b.bytes / of.Bytes()
	switch {
	case p.Texels == 0 || d.api.CreateImage == nil:
		return 0, verdict.For(verdict.Resources, fmt.Errorf("%s has no images of memory: load such grids another way",
			p.Name))
	case n > p.Texels:
		return 0, verdict.For(verdict.Resources,
			fmt.Errorf("an image of %d texels is needed, and those of %s have %d at most: load such grids another way",
				n, p.Name, p.Texels))
	}
	const ofBuffer = 0x10F6
	const bytes, words = 0x10DA, 0x10D9 // without and with a sign
	orders := map[int]uint32{1: 0x10B0, 2: 0x10B2, 4: 0x10B5}
	channels, wide := of.Channels()
	format := imageFormat{orders[channels], bytes}
	if wide {
		format.elements = words
	}
	const readOnly = 1 << 2
	shape := imageShape{kind: ofBuffer, width: uintptr(max(1, n)), memory: b.memory}
	r := codeOK
	h := d.api.CreateImage(d.context, readOnly, &format, &shape, 0, &r)
	if r != 0 {
		return 0, verdict.For(verdict.Resources, d.fail(r, "clCreateImage",
			"%s has no image of %d texels of %d bytes: load such grids another way", p.Name, n, of.Bytes()))
	}
	if b.images == nil {
		b.images = map[device.Texel]handle{}
	}
	b.images[of] = h
	return h, nil
}

// freeImages gives the buffer's images back.
func (b *Buffer) freeImages() error {
	var err error
	for _, h := range b.images {
		if r := b.device.api.ReleaseMemory(h); r != 0 && err == nil {
			err = b.device.fail(r, "clReleaseMemObject", "an image cannot be given back")
		}
	}
	b.images = nil
	return err
}
