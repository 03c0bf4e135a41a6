package opencl

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Builder compiles OpenCL C for a device to images in a cache. It opens the device
// when it first has to, and keeps it open until Close: that takes longer than to
// compile most sources.
type Builder struct {
	Ordinal    int // of the device
	Arithmetic arith.Mode
	Cache      *toolchain.Cache

	api     *api
	device  Properties
	context handle
}

// image is what a file of compiled code holds. The source is for drivers that
// refuse the binary, and those that keep what they compile by themselves.
type image struct {
	Source, Binary []byte
	Options        []string
	Log            string // what the compiler said: drivers with a cache of their own say nothing the next time
	Took           time.Duration
}

// imageVersion changes with what an image holds.
const imageVersion = "2"

// Build compiles the source, unless that was done before, and returns the
// image's path. A compilation that has begun cannot be interrupted.
func (b *Builder) Build(ctx context.Context, text []byte) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	made, err := b.Make(text)
	return made.Path, err
}

// Find finds the device, without opening it.
func (b *Builder) Find() error {
	if b.api != nil {
		return nil
	}
	a, p, err := find(b.Ordinal)
	if err == nil {
		b.api, b.device = a, p
	}
	return err
}

// Open opens the device, unless it is open.
func (b *Builder) Open() error {
	if err := b.Find(); err != nil || b.context != 0 {
		return err
	}
	var err error
	b.context, err = b.api.context(&b.device)
	return err
}

// Close closes the device. What was built stays.
func (b *Builder) Close() {
	if b.context != 0 {
		b.api.ReleaseContext(b.context)
		b.context = 0
	}
}

// image is what the source comes to before it is compiled, and the name of its
// file.
func (b *Builder) image(text []byte) (image, string) {
	p := &b.device
	i := image{Source: source(text, b.Arithmetic), Options: p.options(b.Arithmetic)}
	return i, toolchain.Digest(imageVersion, string(i.Source), strings.Join(i.Options, " "), p.Platform, p.Release,
		p.Name, p.Driver) + ".cl.bin"
}

// Kept returns what was built of a source before, if it is there.
func (b *Builder) Kept(text []byte) (device.Binary, bool) {
	if b.Find() != nil {
		return device.Binary{}, false
	}
	_, name := b.image(text)
	path, ok := b.Cache.Kept(name)
	if !ok {
		return device.Binary{}, false
	}
	i, err := readImage(path)
	return device.Binary{Path: path, Cached: true, Took: i.Took}, err == nil
}

// Make compiles the source, unless that was done before. A binary is kept once the
// driver has loaded it: so it is known to load, and drivers that translate it once
// more, as NVIDIA's does, have that in their cache for the process that runs it.
func (b *Builder) Make(text []byte) (device.Binary, error) {
	if made, ok := b.Kept(text); ok {
		return made, nil
	}
	if err := b.Open(); err != nil {
		return device.Binary{}, err
	}
	start := time.Now()
	made, name := b.image(text)
	a, p := b.api, &b.device
	built, err := a.compile(b.context, p, made.Source, made.Options)
	if err != nil {
		return device.Binary{}, err
	}
	defer built.release()
	made.Log = built.log(p)
	if !p.keepsItsOwn() {
		made.Binary = b.loadable(built.binary(), made.Options)
	}
	made.Took = time.Since(start)
	path, err := keep(b.Cache, name, made)
	return device.Binary{Path: path, Took: made.Took}, err
}

// loadable returns a binary if the driver loads it, else nothing.
func (b *Builder) loadable(binary []byte, options []string) []byte {
	p, err := b.api.reload(b.context, &b.device, binary, options)
	if err != nil {
		return nil
	}
	p.release()
	return binary
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
