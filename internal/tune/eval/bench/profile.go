package bench

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// ProfileCase is a program with a plan, to be profiled by differencing and by counters.
type ProfileCase struct {
	Name string // of a case of the suite temporal, or of an example
	Size int64  // of every axis
	Plan string // "" for the usual one
}

// String names the case.
func (c ProfileCase) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", c.Name, c.Size, c.Plan))
}

// ProfileCases are iterative and complex stencils, by the usual kernels and by better ones.
var ProfileCases = []ProfileCase{
	{"star7", 512, ""}, {"star7", 512, "family=cells"},
	{"star7", 512, "body[0:2]@4{family=pipe,block=8x32,cells=5x2,chunk=0,persistent=1,rims=step,sizes=literals}"},
	{"box27", 512, ""}, {"box27", 512, "family=planes,stream=k,stages=2"},
	{"box27", 512, "body[0:2]@2{family=pipe,block=8x32,cells=5x2,chunk=0,persistent=1,rims=step,sizes=literals}"},
	{"star5", 16384, ""},
	{"star5", 16384, "body[0:2]@10{family=pipe,block=1x32,cells=4,chunk=256,stages=4,sizes=literals}"},
	{"hypterm", 320, ""}, {"hypterm", 320, "family=planes,stages=1"},
	{"rhs4center", 320, ""}, {"rhs4center", 320, "family=planes"},
	{"helmholtz", 512, ""}, {"helmholtz", 512, "family=planes,stream=k,block=4x128,rows=2,vec=2,chunk=16,stages=2"},
	{"miniflux", 320, ""}, {"miniflux", 320, "family=planes,vec=2,stages=1"},
	{"addsgd4", 320, ""}, {"addsgd4", 320, "family=planes"},
}

// Source returns the case's program, from the suite temporal or from the examples, and its sizes.
func (c ProfileCase) Source(examples fs.FS) (*diag.Source, error) {
	text, err := temporalFiles.ReadFile("temporal/" + c.Name + ".loom")
	if err != nil {
		text, err = fs.ReadFile(examples, c.Name+".loom")
	}
	return diag.NewSource(c.Name+".loom", string(text)), err
}

// Set returns values for the parameters that are sizes: all but T, the number of steps.
func (c ProfileCase) Set(names []string) map[string]string {
	set := map[string]string{}
	for _, n := range names {
		if n != "T" {
			set[n] = strconv.FormatInt(c.Size, 10)
		}
	}
	return set
}

// ProfileRow is what binds the kernels of a case.
type ProfileRow struct {
	Case    string           `json:"case"`
	Size    int64            `json:"size"`
	Asked   string           `json:"asked,omitempty"` // of the plan
	Plan    string           `json:"plan"`            // in full
	Kernels []ProfiledKernel `json:"kernels"`
	Roof    profile.Roof     `json:"roof"`
	// NoCounters says why the hardware has counted nothing.
	NoCounters string  `json:"no_counters,omitempty"`
	Took       float64 `json:"took_seconds"`
	Device     string  `json:"device"`
	Driver     string  `json:"driver"`
	Commit     string  `json:"commit"`
}

// ProfiledKernel is what was found of one kernel.
type ProfiledKernel struct {
	*profile.Kernel
	// Agree says whether the class by differencing is that of the counters; nil without counters.
	Agree *bool `json:"agree,omitempty"`
}

// NewProfileRow makes a row of a profile.
func NewProfileRow(c ProfileCase, p *profile.Profile, took float64, commit string) ProfileRow {
	r := ProfileRow{Case: c.Name, Size: c.Size, Asked: c.Plan, Plan: p.Plan, Roof: p.Roof, NoCounters: p.NoCounters,
		Took: took, Device: p.Device.Name, Driver: p.Device.Driver, Commit: commit}
	for _, k := range p.Kernels {
		x := ProfiledKernel{Kernel: k}
		if k.Counters != nil {
			agree := k.Class == k.Counters.Class
			x.Agree = &agree
		}
		r.Kernels = append(r.Kernels, x)
	}
	return r
}

// Key tells rows apart that measure different things.
func (r ProfileRow) Key() string { return fmt.Sprint(r.Case, " ", r.Size, " ", r.Asked, " ", r.Device) }

// Of reports whether a row is of a case, from a commit.
func (r ProfileRow) Of(c ProfileCase, commit string) bool {
	return r.Case == c.Name && r.Size == c.Size && r.Asked == c.Plan && r.Commit == commit
}

const profileCommand = "gridloom bench profile"

// ReadProfiles returns the rows of a file; none if there is no file.
func ReadProfiles(path string) ([]ProfileRow, error) {
	return ReadRows[ProfileRow](path, profileCommand)
}

// MergeProfile puts a row among those of a file.
func MergeProfile(path string, r ProfileRow) error {
	place := func(r ProfileRow) int {
		return slices.IndexFunc(ProfileCases, func(c ProfileCase) bool {
			return c.Name == r.Case && c.Plan == r.Asked
		})
	}
	return MergeRows(path, profileCommand, []ProfileRow{r}, func(a, b ProfileRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Key(), b.Key()))
	})
}

// WriteProfiles prints rows as a table: the class by differencing beside that by counters, which share of the time goes
// with each cost, and the percentages of the counters.
func WriteProfiles(w io.Writer, rows []ProfileRow) {
	agree, of := 0, 0
	for _, r := range rows {
		for _, k := range r.Kernels {
			counted, same := "-", ""
			if h := k.Counters; h != nil {
				counted = fmt.Sprintf("%s (dram %.0f, l2 %.0f, l1 %.0f, issue %.0f, fp64 %.0f, fp32 %.0f)", h.Class,
					h.DRAM, h.L2, h.L1, h.Issue, h.FP64, h.FP32)
				of++
				same = "differs"
				if *k.Agree {
					agree++
					same = "same"
				}
			}
			var shares []string
			for _, v := range k.Variants {
				if v.Absent == "" {
					shares = append(shares, fmt.Sprintf("%s %.0f", v.Without, 100*v.Share))
				}
			}
			fmt.Fprintf(w, "%-10s %6d %-22s %-32s %-8s %s; %% of the time: %s; %s\n", r.Case, r.Size, k.Name,
				k.Class, same,
				counted, strings.Join(shares, ", "), cmp.Or(r.Asked, "the usual plan"))
		}
	}
	fmt.Fprintf(w, "%d of %d kernels have the same class by differencing and by counters\n", agree, of)
}
