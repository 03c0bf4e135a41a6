package predict

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// cores is a machine with so many cores, each with a cache of 256 KiB.
func cores(n int) *machine.Machine {
	return &machine.Machine{
		Name: "cores", Kind: machine.KindCPU, Units: n, CPU: &machine.CPU{VectorBits: 256, ThreadsPerCore: 1},
		Caches: []machine.Cache{
			{Name: "L1", Bytes: 32 << 10, PerUnit: true}, {Name: "L2", Bytes: 256 << 10, PerUnit: true},
			{Name: "L3", Bytes: int64(n) << 21},
		},
	}
}

// onCores are kernels with made-up times: threads share the work evenly, and what does not stay in a core's cache is
// loaded again.
func onCores(t testing.TB, n, trials int, names ...string) []*Recorded {
	t.Helper()
	var list []*Recorded
	for _, name := range names {
		k, err := synth.FindKernel(name)
		if err != nil {
			t.Fatal(err)
		}
		on := target.OnPaper(emit.C, cores(n), arith.Contract)
		kernel := kernelsOn(t, on, name, k.Source([3]int{64, 256, 512}, 1))[0]
		d := session.Device{API: session.CPU, Name: "cores", Units: n}
		r := &Recorded{Kernel: kernel, Device: d.String(), API: d.API, DeviceName: d.Name, Best: math.Inf(1)}
		for _, c := range Candidates(r.Space, trials) {
			s := onCoresSeconds(r.Kernel, c)
			r.Trials, r.Best = append(r.Trials, Trial{Config: c, Seconds: s}), min(r.Best, s)
		}
		list = append(list, r)
	}
	return list
}

func onCoresSeconds(k *Kernel, c schedule.Config) float64 {
	_, of := k.describe()
	value := map[string]float64{}
	for i, x := range of.Of(c) {
		value[of.Features()[i].Name] = x
	}
	return 1e-3 * value["loaded"] / (value["threads_share"] * value["balance"])
}

// What was learned on processors holds on a machine with more of them: they are all taken, and blocks fit into its
// caches.
func TestProcessors(t *testing.T) {
	names := []string{"star-zyx-r1", "star-zyx-r2", "dense-zyx-r1", "dense-yx-r2", "dense-x-r2", "diamond-zyx-r3"}
	list := append(onCores(t, 2, 150, names...), onCores(t, 4, 150, names...)...)
	m, err := Train(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Second != nil || m.Resources != nil || m.Training.Groups != len(names) || m.Training.Kernels != len(list) ||
		!slices.Equal(m.Processors, []string{"cores, 2 threads", "cores, 4 threads"}) {
		t.Errorf("%+v of %q", m.Training, m.Processors)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	if m, err = ReadModel(&file); err != nil {
		t.Fatal(err)
	}
	two := session.Device{API: session.CPU, Name: "cores", Units: 2}
	many := session.Device{API: session.CPU, Name: "other cores", Units: 16}
	gpu := session.Device{API: "cuda", Name: "cores"}
	if !m.For(&two) || !m.Knows(&two) || !m.For(&many) || m.Knows(&many) || m.For(&gpu) || m.Knows(&gpu) {
		t.Errorf("the model is for %q of %s", m.Device, m.API)
	}
	unseen := onCores(t, 16, 400, "star-zyx-r3")[0]
	first := m.Rank(unseen.Kernel)[0].Config
	if got := unseen.Best / onCoresSeconds(unseen.Kernel, first); got < 0.9 {
		t.Errorf("the first pick %v has %.2f of the best speed", first, got)
	}
	if n := unseen.Space.ByRole(first).Int(schedule.Workers, 0); n != 0 && n < 16 {
		t.Errorf("%v takes %d threads of 16", first, n)
	}
	// Of neighbours of the fastest, too, none says how many processors there are.
	k := unseen.Kernel
	var all, others []schedule.Config
	for _, c := range k.Space.Sample(rand.New(rand.NewPCG(1, 1)), 200) {
		if k.Space.ByRole(c).Int(schedule.Workers, 0) == 16 {
			all = append(all, c)
		} else {
			others = append(others, c)
		}
	}
	others = others[:5]
	_, near, fractions := m.Prior(t.Context(), k, m.Rank(k), Leading+1).Expected.Nearby(slices.Concat(all, others))
	if len(all) == 0 || len(near) != len(others) || len(fractions) != len(others) {
		t.Fatalf("of %d that take all, and %d others, %d are near", len(all), len(others), len(near))
	}
	for _, c := range near {
		if !slices.ContainsFunc(others, c.Equal) {
			t.Errorf("%v is near", c)
		}
	}
}

// Trees grow side by side, and a model is the same in every run.
func TestTrainSideBySide(t *testing.T) {
	var files [2]bytes.Buffer
	for i := range files {
		m, err := Train(t.Context(), onCores(t, 2, 12, "dense-x-r1", "dense-x-r2", "dense-y-r1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Write(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if files[0].Len() == 0 || !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Errorf("two models of the same have %d and %d bytes, and differ", files[0].Len(), files[1].Len())
	}
}
