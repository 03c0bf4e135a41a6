package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Blocks that stay for many iterations leave the bits that the reference executor computes, in
// every cell of every grid, whatever the numbers of iterations and of those between exchanges are.
func TestResident(t *testing.T) {
	sizes := []string{"M=1 N=1", "M=3 N=2", "M=13 N=37", "M=35 N=19", "M=50 N=180", "M=29 N=101"}
	configs := []string{
		"block=4x32,cells=5x1", "block=4x32,cells=4x1,wait=grid,barrier=whole", "block=1x32,cells=12x2", "block=6x32,cells=4x2,barrier=whole",
		"block=6x32,cells=2x1", "block=2x32,cells=8x4,sizes=literals",
	}
	for _, prog := range spanPrograms {
		if prog.axes != 2 {
			continue
		}
		t.Run(prog.name, func(t *testing.T) {
			t.Parallel()
			right := 0
			refused := map[string]int{}
			for i, size := range sizes {
				for exchange := 1; exchange <= 4; exchange++ {
					rounds := (i+exchange)%3 + 1
					depth := rounds * exchange
					if depth < 2 {
						continue
					}
					steps := 2*depth + 1 + i%3
					p := load(t, "span", strings.Replace(prog.text, "iterate T", fmt.Sprintf("iterate %d", steps), 1))
					b, list := p.Bind(settings(size))
					if list.HasErrors() {
						continue // too small for the stencil
					}
					text := fmt.Sprintf("body[0:%d]@%d{family=resident,exchange=%d,%s}", prog.leaves, depth, exchange,
						configs[(i+exchange)%len(configs)])
					err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(7*i+exchange))
					switch {
					case err == nil:
						right++
					case strings.Contains(err.Error(), "cells of halos"),
						strings.Contains(err.Error(), "rows of a neigh"),
						strings.Contains(err.Error(), "family=resident:"), strings.Contains(err.Error(), "cannot share a kernel"),
						strings.Contains(err.Error(), "boundaries, and the"):
						refused[err.Error()]++
					default:
						t.Fatalf("%s, %d iterations, %s: %v", size, steps, text, err)
					}
				}
			}
			t.Log(right, refused)
		})
	}
}
