package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// Parse reads a description from JSON and checks it. The error, if any, says
// everything that is wrong, one matter a line.
func Parse(data []byte) (*Machine, error) {
	m := &Machine{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, readError(data, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("line %d: something follows the machine's closing brace",
			lineOf(data, dec.InputOffset()))
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m, nil
}

func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// readError says in the user's words what the decoder refused.
func readError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %v", lineOf(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %s is given %s; it has to be %s", lineOf(data, kind.Offset), kind.Field,
			article(kind.Value), wanted(kind.Type))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: the description ends too early", lineOf(data, int64(len(data))))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		if near := diag.Nearest(name, fieldNames(reflect.TypeOf(Machine{}))); near != "" {
			return fmt.Errorf("a machine has no field %s; did you mean %s?", name, near)
		}
		return fmt.Errorf("a machine has no field %s", name)
	}
	return err
}

// article puts the right article before a kind of JSON value.
func article(value string) string {
	word, _, _ := strings.Cut(value, " ") // "number 1.5"
	switch word {
	case "array", "object":
		return "an " + word
	}
	return "a " + word
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

// fieldNames returns the JSON names of a type's fields and of those below it.
func fieldNames(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldNames(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		names = append(names, fieldNames(t.Field(i).Type)...)
	}
	return names
}

// Validate returns an error that says everything about m that cannot be, or
// nil.
func (m *Machine) Validate() error {
	v := &validator{}
	v.text("name", m.Name)
	v.text("source", m.Source)
	v.above("units", float64(m.Units))
	v.above("clock_ghz", m.ClockGHz)
	v.above("peak.f32_gflops", m.Peak.F32)
	v.above("peak.f64_gflops", m.Peak.F64)
	v.above("memory.bytes", float64(m.Memory.Bytes))
	v.above("memory.gb_per_s", m.Memory.Bandwidth)
	for i, c := range m.Caches {
		at := fmt.Sprintf("caches[%d].", i)
		v.text(at+"name", c.Name)
		v.above(at+"bytes", float64(c.Bytes))
		v.notBelow(at+"gb_per_s", c.Bandwidth)
		v.notBelow(at+"line_bytes", float64(c.LineBytes))
	}
	switch m.Kind {
	case KindGPU:
		v.gpu(m)
	case KindCPU:
		v.cpu(m)
	default:
		v.failf("kind is %q; it is cpu or gpu", m.Kind)
	}
	v.dialects(m)
	return errors.Join(v.errs...)
}

type validator struct{ errs []error }

func (v *validator) failf(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

func (v *validator) text(name, value string) {
	if strings.TrimSpace(value) == "" {
		v.failf("%s is missing", name)
	}
}

func (v *validator) above(name string, value float64) {
	switch {
	case value == 0:
		v.failf("%s is missing or 0; it has to be above 0", name)
	case value < 0:
		v.failf("%s is %v; it has to be above 0", name, value)
	}
}

func (v *validator) notBelow(name string, value float64) {
	if value < 0 {
		v.failf("%s is %v; it cannot be below 0", name, value)
	}
}

func (v *validator) gpu(m *Machine) {
	if m.CPU != nil {
		v.failf("cpu stands in the description of a gpu")
	}
	g := m.GPU
	if g == nil {
		v.failf("gpu is missing: a gpu has limits")
		return
	}
	v.above("gpu.warp", float64(g.Warp))
	v.above("gpu.registers_per_unit", float64(g.Registers))
	v.above("gpu.registers_per_thread", float64(g.RegistersPerThread))
	v.above("gpu.shared_bytes_per_unit", float64(g.SharedPerUnit))
	v.above("gpu.shared_bytes_per_block", float64(g.SharedPerBlock))
	v.notBelow("gpu.shared_gb_per_s", g.SharedBandwidth)
	v.above("gpu.threads_per_block", float64(g.ThreadsPerBlock))
	v.above("gpu.threads_per_unit", float64(g.ThreadsPerUnit))
	v.above("gpu.blocks_per_unit", float64(g.BlocksPerUnit))
	v.notBelow("gpu.cluster_blocks", float64(g.ClusterBlocks))
	v.notBelow("gpu.image_texels", float64(g.ImageTexels))
	for i, axis := range []string{"x", "y", "z"} {
		v.above("gpu.max_block along "+axis, float64(g.MaxBlock[i]))
		v.above("gpu.max_grid along "+axis, float64(g.MaxGrid[i]))
	}
	v.within("gpu.shared_bytes_per_block", g.SharedPerBlock, "gpu.shared_bytes_per_unit", g.SharedPerUnit)
	v.within("gpu.threads_per_block", int64(g.ThreadsPerBlock), "gpu.threads_per_unit", int64(g.ThreadsPerUnit))
	v.within("gpu.registers_per_thread", int64(g.RegistersPerThread), "gpu.registers_per_unit", int64(g.Registers))
}

func (v *validator) within(small string, a int64, large string, b int64) {
	if a > 0 && b > 0 && a > b {
		v.failf("%s is %d, more than %s, which is %d", small, a, large, b)
	}
}

func (v *validator) cpu(m *Machine) {
	if m.GPU != nil {
		v.failf("gpu stands in the description of a cpu")
	}
	if m.CPU == nil {
		v.failf("cpu is missing: a cpu has vector_bits and threads_per_core")
		return
	}
	v.above("cpu.vector_bits", float64(m.CPU.VectorBits))
	v.above("cpu.threads_per_core", float64(m.CPU.ThreadsPerCore))
}

func (v *validator) dialects(m *Machine) {
	if len(m.Dialects) == 0 {
		v.failf("dialects is missing: name at least one of %s", strings.Join(dialects, ", "))
	}
	var all []string
	for _, c := range capabilities {
		all = append(all, string(c))
	}
	for i, d := range m.Dialects {
		if !slices.Contains(dialects, d.Name) {
			v.failf("dialects[%d].name is %q; it is one of %s", i, d.Name, strings.Join(dialects, ", "))
		}
		v.notBelow(fmt.Sprintf("dialects[%d].shared_bytes_per_block", i), float64(d.SharedPerBlock))
		for _, c := range d.Has {
			if slices.Contains(capabilities, c) {
				continue
			}
			if near := diag.Nearest(string(c), all); near != "" {
				v.failf("dialects[%d] has no capability %s; did you mean %s?", i, c, near)
			} else {
				v.failf("dialects[%d] has no capability %s; there are %s", i, c, strings.Join(all, ", "))
			}
		}
	}
}
