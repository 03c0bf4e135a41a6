package predict

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// ModelVersion is that of model files, and treesVersion that of what a model ranks by, which is kept alone.
const (
	ModelVersion = 6
	treesVersion = 5
)

// Model predicts what a configuration of a kernel has of the fastest speed on one kind of device.
type Model struct {
	Version  int      `json:"version"`
	API      string   `json:"api"`    // of the device
	Device   string   `json:"device"` // its name; "processors" for those of any machine
	Features []string `json:"features"`
	// Processors are those that were measured on, with their threads.
	Processors []string `json:"processors,omitempty"`
	Training   Training `json:"training"`
	// Speed predicts the fraction.
	Speed *learn.Boosted `json:"speed"`
	// Resources predict registers and spills; nil if nothing was told of them.
	Resources *Resources `json:"resources,omitempty"`
	// Second ranks the first again; nil if no kernel could be lowered.
	Second *Second `json:"second,omitempty"`
	// Picks are what first picks came to for kernels of groups that were left out, those of the nearest programs first.
	Picks []Pick `json:"picks"`
	// Programs are those that were learned from.
	Programs []Example `json:"programs"`
	Scale    Scale     `json:"scale"`
}

// About names a model: what it is of, and what it has learned from.
type About struct {
	Device   string   `json:"device"`
	API      string   `json:"api"`
	Version  int      `json:"version"`
	Training Training `json:"training"`
}

// About returns what names the model.
func (m *Model) About() About { return About{m.Device, m.API, m.Version, m.Training} }

// String has the first digits of the hash of what the model has learned from.
func (a About) String() string {
	return fmt.Sprintf("a model of %s (%s) of %d kernels, %.8s", a.Device, a.API, a.Training.Kernels, a.Training.Hash)
}

// Training says what a model has learned from.
type Training struct {
	Hash    string `json:"hash"` // of all of it
	Kernels int    `json:"kernels"`
	Groups  int    `json:"groups"`
	Trials  int    `json:"trials"`
}

// Example is a kernel that a model has learned from, by its features.
type Example struct {
	Name     string    `json:"name"`
	Features []float64 `json:"features"` // of the program
	// Best is the fastest configuration that was measured, without the axis that blocks go along.
	Best string `json:"best,omitempty"`
}

// Scale makes features of programs comparable: differences are counted in these units.
type Scale struct {
	Units []float64 `json:"units"`
	// Far is the distance to the nearest example from which a program is unlike all of them.
	Far float64 `json:"far"`
}

// Features are those of a kernel with a configuration on devices of an API, in their order.
func Features(api string) []features.Feature {
	if api == session.CPU {
		return slices.Concat(features.OfProgram, features.OfBlocking)
	}
	return slices.Concat(features.OfProgram, features.OfConfiguration)
}

// featureNames are their names.
func featureNames(api string) []string {
	var names []string
	for _, f := range Features(api) {
		names = append(names, f.Name)
	}
	return names
}

// modelFile is what a model's file holds.
type modelFile struct {
	Gridloom string `json:"gridloom"`
	*Model
}

const modelKind = "model"

// Write writes a model's file: the same bytes for the same model.
func (m *Model) Write(w io.Writer) error { return write(w, modelFile{modelKind, m}) }

// write writes a value as compressed JSON.
func write(w io.Writer, value any) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(z).Encode(value); err != nil {
		return err
	}
	return z.Close()
}

// mostModelBytes bounds a model's file once it is expanded.
const mostModelBytes = 64 << 20

// ReadModel reads a model's file, and refuses those of another version or with other features.
func ReadModel(r io.Reader) (*Model, error) {
	f := modelFile{Model: &Model{}}
	if err := read(r, &f, ModelVersion); err != nil {
		return nil, err
	}
	if f.Gridloom != modelKind {
		return nil, errors.New("this is no model of Gridloom's")
	}
	return f.Model, f.Model.check()
}

// read reads what write has written, of a version that is known.
func read(r io.Reader, value any, known int) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("this is no model: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, mostModelBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("the model cannot be read: %w", err)
	case len(text) > mostModelBytes:
		return fmt.Errorf("the model has more than %d bytes", mostModelBytes)
	}
	if err := json.Unmarshal(text, value); err != nil {
		if of := versionOf(text); of != 0 && of != known {
			return otherVersion(of, known)
		}
		return fmt.Errorf("the model cannot be read: %w", err)
	}
	return nil
}

// treesFile is what is kept of a model that only ranks.
type treesFile struct {
	Gridloom  string         `json:"gridloom"`
	Version   int            `json:"version"`
	API       string         `json:"api,omitempty"`
	Features  []string       `json:"features"`
	Speed     *learn.Boosted `json:"speed"`
	Resources *Resources     `json:"resources,omitempty"`
	Second    *Second        `json:"second,omitempty"`
}

const treesKind = "trees"

// WriteTrees writes what a model ranks by: what one of Learn has, and beside it of registers and a second level.
func (m *Model) WriteTrees(w io.Writer) error {
	return write(w, treesFile{treesKind, treesVersion, m.API, m.Features, m.Speed, m.Resources, m.Second})
}

// ReadTrees reads what WriteTrees has written, and refuses what this Gridloom cannot use.
func ReadTrees(r io.Reader) (*Model, error) {
	var f treesFile
	if err := read(r, &f, treesVersion); err != nil {
		return nil, err
	}
	if f.Gridloom != treesKind {
		return nil, errors.New("these are no trees of Gridloom's")
	}
	if f.Version != treesVersion {
		return nil, otherVersion(f.Version, treesVersion)
	}
	m := &Model{
		Version: ModelVersion, API: f.API, Features: f.Features,
		Speed: f.Speed, Resources: f.Resources, Second: f.Second,
	}
	return m, m.checkRanking()
}

// check refuses models that this Gridloom cannot use.
func (m *Model) check() error {
	if err := m.checkRanking(); err != nil {
		return err
	}
	if len(m.Picks) == 0 {
		return refuse("the model is not complete")
	}
	for _, p := range m.Picks {
		if !(p.Fraction >= 0 && p.Fraction <= 1 && p.Distance >= 0) {
			return refuse("a pick of the model has %v of the best speed at a distance of %v", p.Fraction, p.Distance)
		}
	}
	for _, unit := range m.Scale.Units {
		if !(unit > 0) {
			return refuse("distances of the model are in units of %v", unit)
		}
	}
	for _, e := range m.Programs {
		if len(e.Features) != len(features.OfProgram) || len(m.Scale.Units) != len(features.OfProgram) {
			return refuse("the programs of the model are not complete")
		}
	}
	return nil
}

func refuse(format string, args ...any) error {
	return &gridio.Error{Text: fmt.Sprintf(format, args...), Hint: "gridloom learn makes it anew"}
}

// otherVersion refuses a model of another version than the one that is known.
func otherVersion(version, known int) error {
	return refuse("the model is of version %d, and this Gridloom knows %d", version, known)
}

// versionOf returns the version of a model, of which it may be all that can be read; 0 if not even that can.
func versionOf(text []byte) int {
	var m struct{ Version int }
	if err := json.Unmarshal(text, &m); err != nil {
		return 0
	}
	return m.Version
}

// checkRanking refuses models that cannot rank here.
func (m *Model) checkRanking() error {
	switch {
	case m.Version != ModelVersion:
		return otherVersion(m.Version, ModelVersion)
	case m.Speed == nil:
		return refuse("the model is not complete")
	}
	now := featureNames(m.API)
	for i, name := range now {
		if i >= len(m.Features) || m.Features[i] != name {
			return refuse("the model has other features than this Gridloom: %s is not its %d.", name, i+1)
		}
	}
	if len(m.Features) != len(now) {
		return refuse("the model has %d features, and this Gridloom %d", len(m.Features), len(now))
	}
	trees := func(b *learn.Boosted, features int) error {
		if err := checkTrees(b, features); err != nil {
			return refuse("%v", err)
		}
		return nil
	}
	if err := trees(m.Speed, len(now)); err != nil {
		return err
	}
	if r := m.Resources; r != nil {
		for _, b := range []*learn.Boosted{r.Registers, r.Spills} {
			if err := trees(b, len(now)); err != nil {
				return err
			}
		}
	}
	if x := m.Second; x != nil {
		if !slices.Equal(x.Features, SecondFeatures()) {
			return refuse("the second level of the model has other features than this Gridloom")
		}
		if err := trees(x.Speed, len(x.Features)); err != nil {
			return err
		}
	}
	return nil
}

// checkTrees refuses trees that lead nowhere, or that ask about more features than there are.
func checkTrees(b *learn.Boosted, features int) error {
	if b == nil || len(b.Trees) == 0 {
		return errors.New("the model is not complete")
	}
	for _, t := range b.Trees {
		for i, n := range t {
			if n.Feature < 0 || n.Feature >= features || n.Low != 0 && (n.Low <= i || n.Low >= len(t) || n.High <= i ||
				n.High >= len(t)) {
				return errors.New("a tree of the model is damaged")
			}
		}
		if len(t) == 0 {
			return errors.New("a tree of the model is empty")
		}
	}
	switch {
	case !(b.Rate > 0):
		return fmt.Errorf("trees of the model count with a rate of %v", b.Rate)
	case b.Runs < 1 || len(b.Trees)%b.Runs != 0:
		return fmt.Errorf("the model has %d trees of %d runs", len(b.Trees), b.Runs)
	}
	return nil
}

// For reports whether the model was made for a device. That of processors is for any: what differs is told by features.
func (m *Model) For(d *session.Device) bool {
	return m.API == d.API && (m.API == session.CPU || m.Device == d.Name)
}

// Knows reports whether it has learned from what was measured on the very device.
func (m *Model) Knows(d *session.Device) bool {
	return m.For(d) && (m.API != session.CPU || slices.Contains(m.Processors, d.String()))
}
