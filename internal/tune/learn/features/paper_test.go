package features

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const wide = `
parameter L = 64, M = 128, N = 512;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
float w[L,M,N];
copyin u, w;
stencil s (out, in, map) {
  out[k][j][i] = (0.5*in[k][j][i-2] + 0.25*in[k][j][i+1] + in[k][j+1][i]) / in[k][j][i] * map[k][j][i];
}
s (v, u, w);
copyout v;
`

// named returns numbers by the names of their features.
func named(t *testing.T, of []Feature, values []float64) map[string]float64 {
	t.Helper()
	if len(of) != len(values) {
		t.Fatalf("%d features have %d numbers", len(of), len(values))
	}
	list := map[string]float64{}
	for i, f := range of {
		if _, twice := list[f.Name]; twice || f.Name == "" || f.Doc == "" || f.Example == "" || f.Source == "" {
			t.Errorf("%q: the name is taken, or something is not said", f.Name)
		}
		if math.IsNaN(values[i]) || math.IsInf(values[i], 0) {
			t.Errorf("%s is %v", f.Name, values[i])
		}
		list[f.Name] = values[i]
	}
	return list
}

// The features of a program are those that one counts by hand.
func TestProgram(t *testing.T) {
	b := bound(t, wide, "")
	got := named(t, OfProgram, Program(b, b.Program.Calls[0]))
	for name, want := range map[string]float64{
		"rank": 3, "stencil_size": 4, "density": 4.0 / 8, "order": 2, "halo_x": 3, "halo_y": 1, "halo_z": 0,
		"arrays": 3, "arrays_around": 1, "arrays_pointwise": 1, "arrays_written": 1,
		"element_bytes": 8, "narrow_bytes": 4, "extent_x": math.Log2(509), "extent_y": math.Log2(127), "extent_z": 6,
		"adds": 2, "muls": 3, "divides": 1, "functions": 0, "statements": 1, "loads": 5, "reloads": 0,
		"working_set": math.Log2(64 * 128 * 512 * 20),
	} {
		if math.Abs(got[name]-want) > 1e-9 {
			t.Errorf("%s is %v, not %v", name, got[name], want)
		}
	}
	if got["bytes"] < 20 || got["bytes"] > 20.3 {
		t.Errorf("%v bytes a cell", got["bytes"])
	}
}

// configurations prepares to describe those of a program's first kernel.
func configurations(t *testing.T, b *ir.Binding) (Configurations, schedule.Space) {
	t.Helper()
	o := gpu(t, b)
	o.AnyIntegers = false
	choices, err := lower.Choices(b.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	_, of := Describe(b, b.Program.Calls[0], o.Machine, choices[0].Space)
	return of, choices[0].Space
}

// So are those of configurations.
func TestConfiguration(t *testing.T) {
	of, space := configurations(t, bound(t, wide, ""))
	for text, wants := range map[string]map[string]float64{
		"family=tile,block=1x4x32,vec=4,rows=1x2,repeat=2x1x1,load=readonly,sizes=literals": {
			"family_tile": 1, "family_planes": 0, "threads_x": 32, "threads_y": 4, "threads_z": 1, "blocked_x": 4,
			"blocked_y": 2, "cyclic_z": 2, "tile_x": 7, "tile_y": 3, "tile_z": 1, "covered_x": 509.0 / 512,
			"tiles_x": 2, "covered_z": 1,
			"threads": 7, "cells": 16, "vector": 4, "access_bytes": 32, "row_bytes": 10, "streams": 0,
			"stages": 0, "register_limit": 255, "readonly_loads": 1, "image_loads": 0, "literal_sizes": 1, "shared": 0,
		},
		"family=planes,stream=k,block=8x32,rows=2,vec=2,chunk=32,stages=2,copy=tensor,registers=128": {
			"family_planes": 1, "streams": 1, "stream_length": 5, "stages": 2, "tensor_copies": 1,
			"register_limit": 128, "threads_y": 8, "blocked_y": 2, "tile_z": 5, "tile_y": 4, "covered_z": 1,
			"tiles_z": 1,
		},
		"family=planes,stream=k,block=8x32,chunk=0": {"stream_length": 6, "tile_z": 6, "covered_z": 1, "tiles_z": 0},
	} {
		c, err := schedule.ParseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = space.Complete(c); err != nil {
			t.Fatal(err)
		}
		got := named(t, OfConfiguration, of.Of(c))
		for name, want := range wants {
			if math.Abs(got[name]-want) > 1e-9 {
				t.Errorf("%s of %s is %v, not %v", name, text, got[name], want)
			}
		}
		// Blocks are those of a plane across the stream, as often as tiles follow each other along it.
		if want := got["launched"] - got["streams"]*got["tiles_z"]; math.Abs(got["plane_waves"]-want) > 1e-9 {
			t.Errorf("%v waves of %s side by side, not %v", got["plane_waves"], text, want)
		}
		if text[:11] == "family=plan" && c.Int("stages") > 0 && got["shared"] == 0 {
			t.Errorf("%s stages and has no shared memory", text)
		}
	}
}

// All programs and configurations have finite features: also those of one dimension, with reductions, or with local
// grids.
func TestFeaturesAreNumbers(t *testing.T) {
	list, err := examples.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, f := range list {
		name := f.Name()
		if len(name) < 6 || name[len(name)-5:] != ".loom" || f.IsDir() {
			continue
		}
		b := example(t, name[:len(name)-5], "")
		d := newDrawer(t, b, uint64(i))
		for _, call := range b.Program.Calls {
			named(t, OfProgram, Program(b, call))
			for _, c := range d.choices {
				if c.Call != call.Name {
					continue
				}
				_, of := Describe(b, call, d.o.Machine, c.Space)
				for range 5 {
					named(t, OfConfiguration, of.Of(d.config(c.Space)))
					n++
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("%d configurations were described", n)
	}
}
