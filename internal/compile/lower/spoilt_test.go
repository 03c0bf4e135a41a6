package lower_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// spoiltKernel is a kernel of several iterations in which mistakes are made.
type spoiltKernel struct {
	program, size, plan string
	target              lower.Target
	steps               int
}

// mistake is a change of a kernel's text or of the pipeline that it is made from, and what whoever finds it says:
// the verifier, the simulator, or the comparison with the reference executor.
type mistake struct {
	name, old, new string
	spoil          func(*pipeline.Pipeline)
	found          string
}

// The mistakes in barriers, mbarriers, flags, buffers, halos, masks and planes that are made most easily in kernels of
// each family are found, whichever block or thread comes first.
func TestSpoiltSpans(t *testing.T) {
	const (
		race  = "while thread"
		wrong = "cell"
	)
	narrower := func(stage, axis int, low, high int64) func(*pipeline.Pipeline) {
		return func(p *pipeline.Pipeline) {
			h := &p.Stages[stage].Halo[axis]
			h.Low, h.High = h.Low-low, h.High-high
		}
	}
	for _, c := range []struct {
		name string
		spoiltKernel
		mistakes []mistake
	}{
		{
			"overlap",
			spoiltKernel{"rims that differ", "M=21 N=70",
				"body[0:2]@3{family=overlap,tile=8x32,block=32}", lower.GPU, 4},
			[]mistake{
				{"a missing barrier", `\(barrier block\)`, "", nil, race},
				{"one tile for two stages", `(\(alloc tile_2 .*\n)((.*\n)*)`, "$2", nil, race},
				{"a halo one cell short", "", "", narrower(0, 1, 0, 1), wrong},
				{"a halo one row short", "", "", narrower(1, 0, 1, 0), wrong},
				{"a mask one cell too far", `\(le i_at \(sub N_int \(i32 2\)\)\)`, "(le i_at (sub N_int (i32 1)))",
					nil, wrong},
				{"a tile one row off", `\(sub j_place \(i32 1\)\)`, "j_place", nil, wrong},
			},
		},
		{
			"pipe with an mbarrier",
			spoiltKernel{"star in 3D", "L=11 M=13 N=60",
				"body[0:2]@3{family=pipe,block=4x32,cells=2x1,chunk=7}", lower.GPU, 5},
			[]mistake{
				{"a missing wait", `\(mbarrier.wait .*\(and number \(i32 1\)\)\)`, "", nil, race},
				{"wrong parity", `\(and number \(i32 1\)\)\)`, "(and (add number (i32 1)) (i32 1)))", nil, race},
				{"one warp too few", `(\(mbarrier.init arrived \(i64 0\)) \(i32 4\)`, "$1 (i32 3)", nil, ""},
				{"one warp too many", `(\(mbarrier.init arrived \(i64 0\)) \(i32 4\)`, "$1 (i32 5)",
					nil, "wait for ever"},
				{"an arrival before all lanes have stored", `\(barrier warp\)(\s*\(if .*\s*\(then\s*\(mbarrier.arrive)`,
					"$1",
					nil, race},
				{"rows without a double buffer", `\(add warp_of \(i32 4\)\)`, "warp_of", nil, race},
				{"a wait for one copy less", `\(async.wait 1\)`, "(async.wait 2)", nil, ""},
				{"a copy of the plane before", `(\(let plane_in_2 i32 \(min \(max) \(add t \(i32 2\)\)`,
					"$1 (add t (i32 1))",
					nil, wrong},
				{"a copy to the slot that is read", `(\(let slot_3 i32 \(and \(add number) \(i32 2\)`, "$1 (i32 0)",
					nil, ""},
				{"a lag one plane short", `\(let plane_3 i32 \(sub t \(i32 3\)\)\)`,
					"(let plane_3 i32 (sub t (i32 2)))", nil,
					wrong},
				{"planes that are primed one short", `\(sub first \(i32 3\)\)`, "(sub first (i32 2))", nil, wrong},
				{"two owners of a column", `(\(let x_own .*\(add x_tile) \(i32 3\)`, "$1 (i32 2)", nil, ""},
				{"a row that nobody owns", `(\(let row_own .*\(add row_tile) \(i32 3\)`, "$1 (i32 4)", nil, wrong},
			},
		},
		{
			"pipe with barriers of a block",
			spoiltKernel{"star in 3D", "L=11 M=13 N=60",
				"body[0:2]@3{family=pipe,block=4x32,cells=2x1,chunk=7,barrier=whole,stages=0}", lower.GPU, 5},
			[]mistake{
				{"a missing barrier", `(t i32 serial (.*\n)*?.*)\(barrier block\)`, "$1", nil, race},
				{"rows without a double buffer", `\(add warp_of \(i32 4\)\)`, "warp_of", nil, race},
				{"a halo one cell short", "", "", narrower(0, 2, 0, 1), wrong},
			},
		},
		{
			"pipe in clusters with mbarriers",
			spoiltKernel{"star in 3D", "L=11 M=23 N=60",
				"body[0:2]@3{family=pipe,block=4x32,cells=2x1,chunk=7,cluster=2}", lower.GPU, 5},
			[]mistake{
				{"no block hears from another", `\(mbarrier.arrive arrived .* \(rank [a-z_]+\)\)`, "", nil,
					"wait for ever"},
				{"arrivals of the block alone", `(\(mbarrier.arrive arrived .*) \(rank [a-z_]+\)\)`, "$1)", nil, ""},
				{"one mbarrier for all steps", `(mbarrier.(arrive|wait) arrived) \(i64 1\)`, "$1 (i64 0)", nil, ""},
				{"blocks that begin on their own", `(?s)^(.*?)\(barrier cluster\)`, "$1(barrier block)", nil,
					"may not have begun"},
				{"rows sent to the block itself", `(\(store edge_rows.*) \(rank [a-z_]+\)\)`, "$1)", nil, ""},
			},
		},
		{
			"pipe in clusters with barriers",
			spoiltKernel{"star in 3D", "L=11 M=23 N=60",
				"body[0:2]@3{family=pipe,block=4x32,cells=2x1,chunk=7,barrier=whole,stages=0,cluster=2}", lower.GPU, 5},
			[]mistake{
				{"a missing barrier", `(t i32 serial (.*\n)*?.*)\(barrier cluster\)`, "$1", nil, race},
				{"a barrier of the block alone", `(t i32 serial (.*\n)*?.*)\(barrier cluster\)`, "$1(barrier block)", nil,
					race},
			},
		},
		{
			"pipe in two dimensions",
			spoiltKernel{"rims that differ", "M=21 N=150",
				"body[0:2]@3{family=pipe,block=2x32,cells=2,chunk=7}", lower.GPU, 4},
			[]mistake{
				{"a wait for one copy less", `\(async.wait 1\)`, "(async.wait 2)", nil, ""},
				{"a lane too far", `(\(shuffle .* down .*) \(i32 1\)\)`, "$1 (i32 2))", nil, wrong},
				{"a mask one plane too far", `\(le plane \(sub M_int \(i32 2\)\)\)`, "(le plane (sub M_int (i32 1)))",
					nil,
					wrong},
				{"a halo one run short", "", "", narrower(0, 1, 2, 0), wrong},
			},
		},
		{
			"resident",
			spoiltKernel{"rims that differ", "M=30 N=60",
				"body[0:2]@3{family=resident,block=4x32,cells=4x1}",
				lower.GPU, 6},
			[]mistake{
				{"a missing flag wait", `\(flag.wait .* done\)`, "", nil, race},
				{"a wait for the round before", `(\(flag.wait .*) done\)`, "$1 (sub done (i32 1)))", nil, race},
				{"flags that are cleared late", `\(barrier grid\)`, "(barrier block)", nil, ""},
				{"wrong parity", `\(rem \(add round \(i32 1\)\) \(i32 2\)\)`, "(rem round (i32 2))", nil, ""},
				{"rows without a double buffer", `edge_rows_2 \(add`, "edge_rows (add", nil, race},
				{"a halo one row short", `\(add j_own \(i32 3\)\)`, "(add j_own (i32 2))", nil, ""},
			},
		},
		{
			"wavefront",
			spoiltKernel{"star in 3D", "L=9 M=13 N=20", "body[0:2]@3{family=wavefront,block=0x8x0}", lower.CPU, 4},
			[]mistake{
				{"a halo one row short", "", "", narrower(0, 1, 0, 1), "nothing has written"},
				{"a lag one plane short", `\(let k_plane i64 \(sub k_step \(i64 1\)\)\)`, "(let k_plane i64 k_step)",
					nil, ""},
				{"two planes where three are read", `\(i64 3\)\) \(i64 3\)\) \(i64 3\)\)`, "(i64 2)) (i64 2)) (i64 2))",
					nil,
					wrong},
				{"planes that blocks share", `(\(let out_1_base i64) .*\)`, "$1 (i64 0))",
					nil, "while another iteration"},
				{"a mask one row too far", `\(lt j \(sub M \(i64 1\)\)\)`, "(lt j M)", nil, ""},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := c.prepare(t)
			if err := run(t, mistake{}); err != nil {
				t.Fatal(err)
			}
			for _, m := range c.mistakes {
				err := run(t, m)
				if err == nil || !strings.Contains(err.Error(), m.found) {
					t.Errorf("%s: %v", m.name, err)
				} else {
					t.Logf("%s: %.200s", m.name, err)
				}
			}
		})
	}
}

// prepare lowers the kernel's program, and returns what runs it with a mistake.
func (c spoiltKernel) prepare(t *testing.T) func(*testing.T, mistake) error {
	t.Helper()
	prog := spanPrograms[slices.IndexFunc(spanPrograms, func(p spanProgram) bool { return p.name == c.program })]
	p := load(t, "span", strings.Replace(prog.text, "iterate T", fmt.Sprintf("iterate %d", c.steps), 1))
	b := bind(t, p.In(arith.Contract), c.size)
	want, err := expect(b, interp.NoBounds, 5)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, w mistake) error {
		t.Helper()
		m, err := lower.Program(b.Program, lower.Options{
			Target: c.target, Plan: plan(t, c.plan), Bound: b, Sized: true, Spoil: w.spoil,
		})
		if err != nil {
			t.Fatal(err)
		}
		k := m.Spans[0].Launches[0].Kernel
		if w.old != "" {
			text := kernel.Text(k)
			spoilt := regexp.MustCompile(w.old).ReplaceAllString(text, w.new)
			if strings.HasPrefix(w.name, "one tile") {
				spoilt = strings.ReplaceAll(spoilt, "tile_2", "tile")
			}
			if spoilt == text {
				t.Fatalf("%s: nothing to spoil:\n%s", w.name, text)
			}
			other, err := kernel.ParseText(spoilt)
			if err != nil {
				t.Fatal(err)
			}
			*k = *other
		}
		if err := kernel.Verify(k); err != nil {
			return err
		}
		got, err := want.simulate(m, b)
		if err != nil {
			return err
		}
		if got.Carried(m.Spans[0]) == 0 {
			t.Fatal("no span is carried out")
		}
		return want.compare(b.Program, got)
	}
}
