package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// TemporalRow is one case in one type, with one boundary and size, on one device.
type TemporalRow struct {
	Case     string  `json:"case"`
	DType    string  `json:"dtype"`
	Boundary string  `json:"boundary,omitempty"` // of all grids; none if it is empty
	Grid     string  `json:"grid"`
	Steps    int64   `json:"steps"`
	Rate     float64 `json:"gstencils"` // the median of all repetitions
	Low      float64 `json:"low"`       // its 95 % interval
	High     float64 `json:"high"`
	Cool     float64 `json:"cool_gstencils"` // the best repetition
	Single   float64 `json:"gstencils_single"`
	// Where single plans were given, the fastest of them is timed in turn with the plan.
	SinglePlan string  `json:"single_plan,omitempty"`
	Ratio      float64 `json:"ratio_to_single,omitempty"` // the median of all pairs
	RatioLow   float64 `json:"ratio_low,omitempty"`       // its 95 % interval
	RatioHigh  float64 `json:"ratio_high,omitempty"`
	Pairs      int     `json:"pairs,omitempty"`
	// Bare is the fastest kernel of those that were tried without handling of edges, timed in
	// turn with the plan. Guarded is the median of the ratios of the plan to it.
	Bare     float64 `json:"bare_gstencils,omitempty"`
	BarePlan string  `json:"bare_plan,omitempty"`
	Guarded  float64 `json:"guarded_over_bare,omitempty"`
	Depth    int     `json:"depth"`
	// Useful is the share of cell updates of the kernel that are not redundant, counted from the
	// kernel (kernel.Work).
	Useful float64 `json:"useful,omitempty"`
	// SlotShare is the share of issue slots that the kernel fills, as the hardware counts; nil
	// where that was not read. SlotCommit is the commit that counted it, if that is not Commit.
	SlotShare  *float64 `json:"slot_share"`
	SlotCommit string   `json:"slot_commit,omitempty"`
	// Bytes is what an iteration cannot do without, by cell of the grid: every grid that is read,
	// and every one that is written, once. Traffic is the GB/s that so many bytes at this rate come to,
	// and OverCopy that over the GB/s of a copy, as the description of the machine says.
	Bytes    float64 `json:"compulsory_bytes,omitempty"`
	Traffic  float64 `json:"compulsory_gbs,omitempty"`
	OverCopy float64 `json:"compulsory_over_copy,omitempty"`
	Differ   int64   `json:"differing_cells"` // from one iteration a kernel
	Cells    int64   `json:"cells_compared"`
	// Registers and Spills, in bytes, are those of a thread of the kernel that has several iterations.
	Registers int             `json:"registers"`
	Spills    int             `json:"spills"`
	Plan      string          `json:"plan"`
	Rivals    []TemporalRival `json:"rivals,omitempty"`
	Seconds   float64         `json:"seconds"` // of all repetitions
	Device    string          `json:"device"`
	Driver    string          `json:"driver"`
	Commit    string          `json:"commit"`
}

// Key tells rows apart that measure different things.
func (r TemporalRow) Key() string {
	return strings.Join([]string{
		r.Case, r.DType, cmp.Or(r.Boundary, "none"), r.Grid, strconv.FormatInt(r.Steps, 10), r.Device,
	}, " ")
}

// TemporalRival is what others reach on a case, with a grid of theirs.
type TemporalRival struct {
	Rival  string  `json:"rival"`
	Case   string  `json:"case"`
	DType  string  `json:"dtype"`
	Device string  `json:"device"`
	Rate   float64 `json:"gstencils"`
	Grid   string  `json:"grid,omitempty"`  // as they like it; empty where it is not known
	Depth  int     `json:"depth,omitempty"` // iterations a kernel
	Note   string  `json:"note,omitempty"`
}

// temporalRivals returns those of a row: they were measured on its device, with the stencil's
// other cells as they are at the edges.
func temporalRivals(r TemporalRow) ([]TemporalRival, error) {
	text, err := temporalFiles.ReadFile("temporal/rivals.json")
	if err != nil {
		return nil, err
	}
	var list []TemporalRival
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("temporal/rivals.json: %w", err)
	}
	name, _ := strings.CutSuffix(r.Case, "-axes")
	return slices.DeleteFunc(list, func(v TemporalRival) bool {
		return v.Case != name || v.DType != r.DType || v.Device != r.Device || cmp.Or(r.Boundary, "none") != "none"
	}), nil
}

// impossible says which figure of a row cannot be: then something else than the loop was timed.
func (r TemporalRow) impossible(b *ir.Binding, m *machine.Machine) error {
	switch {
	case !(r.Useful > 0 && r.Useful <= 1):
		return fmt.Errorf("a share of %v of the updates cannot be useful", r.Useful)
	case r.SlotShare != nil && !(*r.SlotShare > 0 && *r.SlotShare <= 1):
		return fmt.Errorf("a share of %v of the issue slots cannot be", *r.SlotShare)
	case !(r.Low > 0 && r.Low <= r.Rate && r.Rate <= r.High && r.High <= r.Cool):
		return fmt.Errorf("the rates %v to %v around %v, at best %v, have no order", r.Low, r.High, r.Rate, r.Cool)
	}
	if m == nil {
		return nil
	}
	peak := m.Peak.F64
	if r.DType == types.F32.Word() {
		peak = m.Peak.F32
	}
	facts := loopFacts(b)
	if most := peak * r.Useful / facts.Ops.Flops(); peak > 0 && r.Cool > most {
		return fmt.Errorf("%.0f GStencil/s are more than the %.0f that the arithmetic of %s allows", r.Cool, most,
			m.Name)
	}
	if m.Memory.Bandwidth == 0 || !beyondCaches(facts.WorkingSet, m) {
		return nil
	}
	for _, x := range []struct {
		rate  float64
		depth int
	}{{r.Cool, r.Depth}, {r.Single, 1}} {
		if most := copySlack * m.Memory.Bandwidth * float64(x.depth) / r.Bytes; x.rate > most {
			return fmt.Errorf("%.0f GStencil/s with %d iterations a kernel are more than the %.0f that the memory of "+
				"%s allows", x.rate, x.depth, most, m.Name)
		}
	}
	return nil
}

// copySlack is by how much memory may be faster than its copies: where more is read than written.
const copySlack = 1.15

// beyondCaches reports whether so many bytes leave little of themselves in the caches.
func beyondCaches(bytes int64, m *machine.Machine) bool {
	for _, c := range m.Caches {
		have := c.Bytes
		if c.PerUnit {
			have *= int64(m.Units)
		}
		if bytes < 8*have {
			return false
		}
	}
	return len(m.Caches) > 0
}

// ReadTemporal returns the rows of a file; none if there is no file.
func ReadTemporal(path string) ([]TemporalRow, error) {
	return ReadRows[TemporalRow](path, "bench temporal")
}

// MergeTemporal puts a row among those that a file has, in the place of one that measured
// the same if there is one.
func MergeTemporal(path string, row TemporalRow) error {
	names, ends := TemporalNames(), TemporalBoundaries()
	return MergeRows(path, "bench temporal", []TemporalRow{row}, func(a, b TemporalRow) int {
		return cmp.Or(cmp.Compare(slices.Index(names, a.Case), slices.Index(names, b.Case)),
			cmp.Compare(slices.Index(ends, a.Boundary), slices.Index(ends, b.Boundary)),
			strings.Compare(a.Key(), b.Key()))
	})
}
