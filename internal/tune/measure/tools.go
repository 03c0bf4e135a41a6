package measure

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A tool is a kernel of this package: it says what is done for one item. Tools are written once, in the
// common subset of C, CUDA and OpenCL C.
type tool struct {
	name   string
	params []param // after them comes the number of items
	body   string  // the item is i
}

type param struct {
	kind string // "f64", or "wide" of 16 bytes
	name string
	mode mode
}

type mode uint8

const (
	value mode = iota
	input
	output
)

// Rows are padded on some devices: cell c of a grid with rows of n cells is the element
// lead + c / n * pitch + c % n.
var place = []param{{"i64", "n", value}, {"i64", "pitch", value}, {"i64", "lead", value}}

const at = "lead + %s / n * pitch + %s %% n"

// tools returns the kernels for grids of some types.
func tools(kinds []types.Type) []tool {
	list := []tool{
		{"poison", []param{{"i64", "u", output}}, "u[i] = -1;"},
		{"copy_wide", []param{{"wide", "to", output}, {"wide", "from", input}}, "to[i] = from[i];"},
	}
	for _, t := range kinds {
		list = append(list, fillTool(t), keepTool(t), compareTool(t), pickTool(t))
	}
	return list
}

// fillTool gives the cells of a grid values by their number and a seed: floats in
// [0, 1), small integers, and truths.
func fillTool(t types.Type) tool {
	draw := map[types.Type]string{
		types.F64: "(double)(r >> 11) / 9007199254740992.0", types.F32: "(float)(r >> 40) / 16777216.0f",
		types.I32: "(int32_t)(r >> 62)", types.U8: "(uint8_t)(r >> 62)", types.Bool: "(uint8_t)(r >> 63)",
	}[t]
	return tool{
		"fill_" + t.String(), append([]param{{t.String(), "u", output}, {"i64", "seed", value}}, place...),
		"const uint64_t r = gl_mix((uint64_t)i + gl_mix((uint64_t)seed));\n\tu[" + fmt.Sprintf(at, "i", "i") + "] = " +
			draw + ";",
	}
}

// Value returns what the worker fills cell number i of grid number g with.
func Value(t types.Type, i, g int64) float64 {
	r := mix(uint64(i) + mix(uint64(g+1)))
	switch t {
	case types.F64:
		return float64(r>>11) / (1 << 53)
	case types.F32:
		return float64(float32(r>>40) / (1 << 24))
	case types.Bool:
		return float64(r >> 63)
	}
	return float64(r >> 62)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// keepTool copies a grid to dense memory.
func keepTool(t types.Type) tool {
	return tool{
		"keep_" + t.String(), append([]param{{t.String(), "to", output}, {t.String(), "u", input}}, place...),
		"to[i] = u[" + fmt.Sprintf(at, "i", "i") + "];",
	}
}

// compareTool compares a grid with dense memory. Item i looks at count cells
// from i * start on, step apart, of all there are, and reports how many differ
// by more than they may, the first of them, how many were not compared because
// both are no numbers, and the largest difference of the others.
func compareTool(t types.Type) tool {
	abs, neither := "a > b ? (double)a - (double)b : (double)b - (double)a", "0"
	if t.IsFloat() {
		neither = "a != a && b != b"
	}
	body := `int64_t wrong = 0, first = -1, nans = 0;
	double most = 0;
	for (int64_t k = 0, c = i * start; k < count && c < all; k++, c += step) {
		const ` + cTypes[t.String()] + ` a = u[` + fmt.Sprintf(at, "c", "c") + `], b = want[c];
		if (a == b)
			continue;
		if (` + neither + `) {
			nans++;
			continue;
		}
		const double d = ` + abs + `, size = b < 0 ? -(double)b : (double)b;
		if (d <= margin + relative * size) {
			most = d > most ? d : most;
			continue;
		}
		wrong++;
		if (first < 0)
			first = c;
	}
	found[3 * i] = wrong;
	found[3 * i + 1] = first;
	found[3 * i + 2] = nans;
	apart[i] = most;`
	params := []param{{"i64", "found", output}, {"f64", "apart", output}, {t.String(), "u", input},
		{t.String(), "want", input}}
	params = append(params, place...)
	for _, name := range []string{"all", "start", "step", "count"} {
		params = append(params, param{"i64", name, value})
	}
	return tool{"compare_" + t.String(), append(params, param{"f64", "margin", value}, param{"f64", "relative", value}),
		body}
}

// pickTool reads one cell of a grid, and of what it is compared with.
func pickTool(t types.Type) tool {
	return tool{
		"pick_" + t.String(), append([]param{{"f64", "to", output}, {t.String(), "u", input},
			{t.String(), "want", input}, {"i64", "c", value}}, place...),
		"to[0] = (double)u[" + fmt.Sprintf(at, "c", "c") + "];\n\tto[1] = (double)want[c];",
	}
}

var cTypes = map[string]string{"bool": "uint8_t", "u8": "uint8_t", "i32": "int32_t", "i64": "int64_t", "f32": "float",
	"f64": "double", "wide": "gl_wide"}

// speech is how a language writes a tool.
type speech struct {
	prelude, helper, head, space, wide string
}

var speeches = map[*emit.Dialect]speech{
	emit.C: {emit.C.Prelude, "static inline ", "static inline void ", "",
		"typedef struct { int64_t a, b; } gl_wide;\n"},
	emit.CUDA: {emit.CUDA.Prelude, "static __device__ inline ", `extern "C" __global__ void `, "",
		"typedef int4 gl_wide;\n"},
	emit.OpenCL: {
		"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef uchar uint8_t;\ntypedef int int32_t;\ntypedef long " +
			"int64_t;\ntypedef ulong uint64_t;\n",
		"static inline ", "__kernel void ", "__global ", "typedef int4 gl_wide;\n",
	},
}

// toolThreads are those of a block that runs tools.
const toolThreads = 256

// toolSource writes the tools in a language.
func toolSource(d *emit.Dialect, kinds []types.Type) string {
	s := speeches[d]
	var b strings.Builder
	b.WriteString(s.prelude + s.wide)
	fmt.Fprintf(&b, `
%suint64_t gl_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}
`, s.helper)
	for _, t := range tools(kinds) {
		t.write(&b, d, s)
	}
	return b.String()
}

func (t tool) write(b *strings.Builder, d *emit.Dialect, s speech) {
	var params []string
	for _, p := range t.params {
		c := cTypes[p.kind]
		switch p.mode {
		case input:
			c = s.space + "const " + c + " *"
		case output:
			c = s.space + c + " *"
		default:
			c += " "
		}
		params = append(params, c+p.name)
	}
	if d == emit.C {
		t.writeC(b, params)
		return
	}
	index := "(int64_t)blockIdx.x * 256 + threadIdx.x"
	if d == emit.OpenCL {
		index = "(int64_t)get_group_id(0) * 256 + get_local_id(0)"
	}
	fmt.Fprintf(b, "\n%s%s(%s, int64_t items)\n{\n\tconst int64_t i = %s;\n\tif (i >= items)\n\t\treturn;\n\t%s\n}\n",
		s.head, t.name, strings.Join(params, ", "), index, t.body)
}

// writeC writes a tool as a loop that the threads of a processor share.
func (t tool) writeC(b *strings.Builder, params []string) {
	fmt.Fprintf(b, "\nstatic inline void %s(%s, int64_t i)\n{\n\t%s\n}\n", t.name, strings.Join(params, ", "), t.body)
	fmt.Fprintf(b, "\nvoid gl_%s(void **args)\n{\n", t.name)
	var names []string
	for i, p := range t.params {
		c := cTypes[p.kind]
		switch p.mode {
		case value:
			fmt.Fprintf(b, "\tconst %s %s = *(%s *)args[%d];\n", c, p.name, c, i)
		default:
			fmt.Fprintf(b, "\t%s *%s = *(%s **)args[%d];\n", c, p.name, c, i)
		}
		names = append(names, p.name)
	}
	fmt.Fprintf(b,
		"\tconst int64_t items = *(int64_t *)args[%d];\n#pragma omp parallel for\n\tfor (int64_t i = 0; i < items; "+
			"i++)\n\t\t%s(%s, i);\n}\n",
		len(t.params), t.name, strings.Join(names, ", "))
}
