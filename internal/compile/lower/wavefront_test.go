package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Blocks that are computed plane by plane on a CPU leave the bits that the reference executor
// computes, in every cell of every grid, whatever the size and the number of iterations are.
func TestWavefront(t *testing.T) {
	sizes := map[int][]string{
		1: {"N=1", "N=5", "N=67", "N=131"},
		2: {"M=1 N=1", "M=3 N=2", "M=13 N=37", "M=35 N=19", "M=50 N=97"},
		3: {"L=1 M=1 N=1", "L=3 M=5 N=2", "L=7 M=9 N=21", "L=5 M=12 N=70", "L=17 M=19 N=31"},
	}
	blocks := map[int][]string{
		1: {"32", "0", "96", "1024"}, 2: {"0x0", "0x32", "8x0", "5x32", "1x64"},
		3: {"0x0x0", "0x4x0", "3x7x0", "4x4x32", "0x1x32", "11x0x32"},
	}
	for _, prog := range spanPrograms {
		t.Run(prog.name, func(t *testing.T) {
			t.Parallel()
			right := 0
			for i, size := range sizes[prog.axes] {
				for depth := 2; depth <= 5; depth++ {
					steps := 2*depth + 1 + i
					text := strings.Replace(prog.text, "iterate T", fmt.Sprintf("iterate %d", steps), 1)
					p := load(t, "span", text)
					b, list := p.Bind(settings(size))
					if list.HasErrors() {
						continue // too small for the stencil
					}
					block := blocks[prog.axes][(i+depth)%len(blocks[prog.axes])]
					config := fmt.Sprintf("family=wavefront,block=%s,threads=%d", block, i%3)
					plan := fmt.Sprintf("body[0:%d]@%d{%s}", prog.leaves, depth, config)
					err := checkSpan(t, lower.CPU, b.In(arith.Contract), plan, uint64(7*i+depth))
					if err != nil {
						t.Fatalf("%s, %d iterations, %s: %v", size, steps, plan, err)
					}
					right++
				}
			}
			if right < 8 {
				t.Errorf("%d were right", right)
			}
		})
	}
}

// So do loops whose dependences are easy to get wrong.
func TestWavefrontEdges(t *testing.T) {
	for _, c := range spanEdges {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := bind(t, load(t, "span", strings.Replace(c.text, "iterate T", "iterate 9", 1)), c.size)
			head, _, _ := strings.Cut(c.plan, "{")
			blocks := []string{"32", "0"}
			if strings.Contains(c.size, "M=") {
				blocks = []string{"0x32", "0x0", "8x0", "5x32"}
			}
			for _, block := range blocks {
				text := fmt.Sprintf("%s{family=wavefront,block=%s}", head, block)
				if err := checkSpan(t, lower.CPU, b.In(arith.Contract), text, 7); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
}
