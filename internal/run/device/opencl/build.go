package opencl

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Builder compiles OpenCL C for a device to images in a cache.
type Builder struct {
	Ordinal    int // of the device
	Arithmetic toolchain.Arithmetic
	Cache      *toolchain.Cache
}

// image is what a file of compiled code holds. The source is for drivers that
// refuse the binary, and those that keep what they compile by themselves.
type image struct {
	Source, Binary []byte
	Options        []string
}

// Build compiles the source, unless that was done before, and returns the
// image's path. A compilation that has begun cannot be interrupted.
func (b *Builder) Build(ctx context.Context, text []byte) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	a, p, err := find(b.Ordinal)
	if err != nil {
		return "", err
	}
	made := image{Source: source(text, b.Arithmetic), Options: p.options(b.Arithmetic)}
	name := toolchain.Digest(string(made.Source), strings.Join(made.Options, " "), p.Platform, p.Release, p.Name, p.Driver) + ".cl.bin"
	if path, ok := b.Cache.Kept(name); ok {
		return path, nil
	}
	c, err := a.context(&p)
	if err != nil {
		return "", err
	}
	defer a.ReleaseContext(c)
	built, err := a.compile(c, &p, made.Source, made.Options)
	if err != nil {
		return "", err
	}
	defer built.release()
	if !p.keepsItsOwn() {
		made.Binary = built.binary()
	}
	return keep(b.Cache, name, made)
}

func keep(c *toolchain.Cache, name string, i image) (string, error) {
	var file bytes.Buffer
	if err := gob.NewEncoder(&file).Encode(i); err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	return c.Keep(name, file.Bytes())
}

// readImage reads what Build has made.
func readImage(path string) (image, error) {
	var i image
	data, err := toolchain.Read(path)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data)).Decode(&i)
	}
	if err != nil {
		return i, fmt.Errorf("the compiled code cannot be loaded: %w", err)
	}
	return i, nil
}

// context makes a context with one device.
func (a *api) context(p *Properties) (handle, error) {
	const contextPlatform = 0x1084
	properties := [3]uintptr{contextPlatform, uintptr(p.platform), 0}
	d, r := p.device, codeOK
	c := a.CreateContext(&properties[0], 1, &d, 0, 0, &r)
	if r != 0 {
		return 0, fail(r, "clCreateContext", "the device %s (%s) cannot be opened", ID(p.Ordinal), p.Name)
	}
	return c, nil
}
