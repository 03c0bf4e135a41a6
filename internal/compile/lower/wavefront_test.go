package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
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
			switch {
			case strings.Contains(c.size, "L="):
				blocks = []string{"0x4x0", "0x0x0", "3x7x0", "4x4x32"}
			case strings.Contains(c.size, "M="):
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

// star returns the program of a star in three dimensions, of nine iterations.
func star(t *testing.T) *ir.Binding {
	t.Helper()
	for _, prog := range spanPrograms {
		if prog.name == "star in 3D" {
			p := load(t, "span", strings.Replace(prog.text, "iterate T", "iterate 9", 1))
			return bind(t, p, "L=7 M=9 N=21").In(arith.Contract)
		}
	}
	t.Fatal("there is no such program")
	return nil
}

// Halos that are too small by one cell are found; as they are, they are large enough.
func TestWavefrontNeedsItsHalos(t *testing.T) {
	b := star(t)
	for k := range 3 {
		o := lower.Options{
			Plan: plan(t, "body[0:2]@3{family=wavefront,block=3x4x32}"), Bound: b, Sized: true, AnyIntegers: true,
			Spoil: func(p *pipeline.Pipeline) {
				if k < 2 {
					p.Stages[0].Halo[k].High--
				}
			},
		}
		want, err := expect(b, interp.NoBounds, 3)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lowered(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := want.simulate(m, b)
		if err == nil {
			err = want.compare(b.Program, got)
		}
		if (err != nil) != (k < 2) {
			t.Errorf("axis %d: %v", k, err)
		}
	}
}

// The interior of each stage is one loop of vectors without guards, with another one for the
// cells before the first that is aligned where memory is read.
func TestWavefrontInterior(t *testing.T) {
	b := star(t)
	m, err := lowered(b.Program, lower.Options{Plan: plan(t, "body[0:2]@4{family=wavefront}"), Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	var loops []string
	kernel.WalkStmts(m.Spans[0].Launches[0].Kernel.Body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok && l.Path == kernel.Interior {
			loops = append(loops, l.Tag.String())
		}
	}, nil)
	if want := "vector vector vector vector vector"; strings.Join(loops, " ") != want {
		t.Errorf("%v", loops)
	}
}
