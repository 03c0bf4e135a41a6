package cuda

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// texture is a CUtexObject: memory that kernels read as an image.
type texture uint64

// resource is the driver's CUDA_RESOURCE_DESC for a run of memory.
type resource struct {
	kind     uint32
	_        uint32
	at       pointer
	format   uint32
	channels uint32
	bytes    uint64
	_        [104]byte // what other kinds have
	_        [2]uint32 // flags
}

// textureUse is the driver's CUDA_TEXTURE_DESC. Runs of memory are read texel by
// texel, so that zeros are right for all but the flags.
type textureUse struct {
	_     [4]uint32
	flags uint32
	_     [21]uint32
}

// texture returns the buffer as an image of such texels.
func (b *Buffer) texture(of device.Texel) (texture, error) {
	if t, ok := b.textures[of]; ok {
		return t, nil
	}
	d := b.device
	if n, most := b.bytes/of.Bytes(), d.GPU.Limits.Texels; most > 0 && n > most {
		return 0, verdict.For(verdict.Resources,
			fmt.Errorf("an image of %d texels is needed, and those of %s have %d at most: load such grids another way",
				n, d.GPU.Name, most))
	}
	const linear = 2
	const bytes8, words32, floats = 0x01, 0x0a, 0x20
	const asIntegers = 1
	r := resource{kind: linear, at: b.at, format: bytes8, bytes: uint64(max(b.bytes, of.Bytes()))}
	how := textureUse{flags: asIntegers}
	n, words := of.Channels()
	switch r.channels = uint32(n); {
	case of.Elem == types.F32:
		r.format, how.flags = floats, 0
	case words:
		r.format = words32
	}
	var t texture
	if code := d.driver.TextureCreate(&t, &r, &how, 0); code != 0 {
		return 0, d.fail(code, "cuTexObjectCreate", "an image of %d texels of %d bytes cannot be had",
			b.bytes/of.Bytes(), of.Bytes())
	}
	if b.textures == nil {
		b.textures = map[device.Texel]texture{}
	}
	b.textures[of] = t
	return t, nil
}

// freeTextures gives the buffer's images back.
func (b *Buffer) freeTextures() error {
	var err error
	for _, t := range b.textures {
		if code := b.device.driver.TextureDestroy(t); code != 0 && err == nil {
			err = b.device.fail(code, "cuTexObjectDestroy", "an image cannot be given back")
		}
	}
	b.textures = nil
	return err
}
