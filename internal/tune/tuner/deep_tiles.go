package tuner

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// In three dimensions registers bind: which tile is fast depends on the depth, on how many grids there are and on
// the type, so that no list of seeds has it for all programs. The model predicts all tiles of the common numbers of
// warps instead. What it cannot tell apart, which is how a kernel treats its edges, is tried.

// tileWarps are the warps of the blocks that the model chooses from: with fewer the halo is a large part.
var tileWarps = []int64{8, 12, 16}

// tileForms are the ways to make a kernel of a tile that were the fastest of some stencil on an H200
// (bench/results/kernels-h200.json). Tiles are predicted in the first, which is the plainest. What treats edges comes
// last in each: a program that has no such edges does without.
var tileForms = []string{
	"chunk=0,persistent=1,sizes=literals,rims=step",
	"chunk=0,persistent=1,sizes=literals,rimvec=1",
	"chunk=0,persistent=1,sizes=literals,rims=step,rimless=own",
	"chunk=256,sizes=literals,rims=step,rimtiles=all",
	"chunk=0,persistent=1,sizes=literals,rimvec=1,rimless=own",
	"chunk=256,sizes=literals,rimvec=1,rimtiles=all",
}

// mostTiles is how many tiles a search starts with in all forms.
const mostTiles = 3

// tiles returns the configurations of a kernel's tiles, each in the first form.
func (l *loopSearch) tiles(k *kernelSearch) []schedule.Config {
	if l.axes != 3 {
		return nil
	}
	var list []schedule.Config
	for _, warps := range tileWarps {
		for _, cells := range tileCells(k.space.Schedule()) {
			if c, ok := k.space.Schedule().NearSeed(tileText(fmt.Sprintf("%dx32", warps), cells, tileForms[0])); ok {
				list = append(list, c)
			}
		}
	}
	return list
}

// tileCells returns the cells of a thread that a space has.
func tileCells(s schedule.Space) []string {
	f := s.Family(tileFamily)
	if f == nil || f.Param(tileParam) == nil {
		return nil
	}
	var list []string
	for _, v := range f.Param(tileParam).Values {
		list = append(list, v.String())
	}
	return list
}

const (
	tileFamily = "pipe"
	tileParam  = "cells"
)

func tileText(block, cells, form string) string {
	return fmt.Sprintf("family=%s,block=%s,%s=%s,%s", tileFamily, block, tileParam, cells, form)
}

// tile is the block and the cells of a thread of a kernel.
type tile struct{ block, cells string }

func tileOf(c schedule.Config) tile {
	block, _ := c.Get("block")
	cells, _ := c.Get(tileParam)
	return tile{block.String(), cells.String()}
}

// differentTiles returns the first configurations of a list that have different tiles. Those of other families have
// none, and each is returned.
func differentTiles(list []schedule.Config, most int) []schedule.Config {
	known := map[tile]bool{}
	var out []schedule.Config
	for _, c := range list {
		if len(out) == most {
			break
		}
		if c.Family == tileFamily {
			t := tileOf(c)
			if known[t] {
				continue
			}
			known[t] = true
		}
		out = append(out, c)
	}
	return out
}

// inAllForms returns the first tiles of a list in the other forms, form by form.
func (k *kernelSearch) inAllForms(list []schedule.Config) []schedule.Config {
	own := slices.DeleteFunc(slices.Clone(list), func(c schedule.Config) bool { return c.Family != tileFamily })
	own = differentTiles(own, mostTiles)
	var out []schedule.Config
	for _, form := range tileForms {
		for _, c := range own {
			t := tileOf(c)
			if c, ok := k.space.Schedule().NearSeed(tileText(t.block, t.cells, form)); ok {
				out = append(out, c)
			}
		}
	}
	return out
}
