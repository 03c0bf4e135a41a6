package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// helperText is the definition of a helper, without its head, by name.
// %[1]s is the type that the helper works on.
type helperText struct {
	name string
	t    types.Type
	text string
	uses string // other helpers that must come before
	head string // comes before the dialect's
	bare bool   // not a function: no head
}

var helperTexts = slices.Concat(helperTable(), cudaHelpers(), openclHelpers())

// isHelper reports whether there is a helper of a name.
func isHelper(name string) bool {
	for _, h := range helperTexts {
		if h.name == name {
			return true
		}
	}
	return false
}

func helperTable() []helperText {
	list := []helperText{{name: "fma", bare: true, text: fmaText}}
	for _, t := range []types.Type{types.I32, types.I64} {
		list = append(list,
			helperText{name: "min_" + t.String(), t: t,
				text: "%[1]s gl_min_%[2]s(%[1]s a, %[1]s b) { return a < b ? a : b; }"},
			helperText{name: "max_" + t.String(), t: t,
				text: "%[1]s gl_max_%[2]s(%[1]s a, %[1]s b) { return a > b ? a : b; }"})
	}
	for _, t := range []types.Type{types.F32, types.F64} {
		list = append(list,
			helperText{name: "min_" + t.String(), t: t,
				text: "%[1]s gl_min_%[2]s(%[1]s a, %[1]s b) { return a < b || a != a ? a : b; } // NaN propagates"},
			helperText{name: "max_" + t.String(), t: t,
				text: "%[1]s gl_max_%[2]s(%[1]s a, %[1]s b) { return a > b || a != a ? a : b; } // NaN propagates"},
			helperText{name: "fma_" + t.String(), t: t, uses: "fma",
				text: "%[1]s gl_fma_%[2]s(%[1]s a, %[1]s b, %[1]s c)\n{\n" +
					"#ifdef GL_FMA\n    return fma%[3]s(a, b, c);\n#else\n    return a * b + c;\n#endif\n}"},
			helperText{name: "neg_" + t.String(), t: t, text: negText(t)},
			helperText{name: "int_" + t.String(), t: t,
				text: "int32_t gl_int_%[2]s(%[1]s x) // towards zero, saturating; NaN is 0\n{\n" +
					"    return x != x ? 0 : x <= -2147483648.0%[3]s ? -2147483647 - 1 : " +
					"x >= 2147483647.0%[3]s ? 2147483647 : (int32_t)x;\n}"},
			helperText{name: "long_" + t.String(), t: t,
				text: "int64_t gl_long_%[2]s(%[1]s x) // towards zero, saturating; NaN is 0\n{\n" +
					"    return x != x ? 0 : x <= -9223372036854775808.0%[3]s ? -INT64_C(9223372036854775807) - 1 : " +
					"x >= 9223372036854775808.0%[3]s ? INT64_C(9223372036854775807) : (int64_t)x;\n}"})
	}
	return append(list,
		helperText{name: "add_i32", t: types.I32, text: "int32_t gl_add_i32(int32_t a, int32_t b) " +
			"{ return (int32_t)((uint32_t)a + (uint32_t)b); } // wraps around"},
		helperText{name: "sub_i32", t: types.I32, text: "int32_t gl_sub_i32(int32_t a, int32_t b) " +
			"{ return (int32_t)((uint32_t)a - (uint32_t)b); } // wraps around"},
		helperText{name: "mul_i32", t: types.I32, text: "int32_t gl_mul_i32(int32_t a, int32_t b) " +
			"{ return (int32_t)((uint32_t)a * (uint32_t)b); } // wraps around"},
		helperText{name: "div_i32", t: types.I32, text: "int32_t gl_div_i32(int32_t a, int32_t b) // x / 0 is 0\n{\n" +
			"    return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;\n}"},
		helperText{name: "rem_i32", t: types.I32, text: "int32_t gl_rem_i32(int32_t a, int32_t b) " +
			"{ return b == 0 || b == -1 ? 0 : a % b; } // x % 0 is 0"},
		helperText{name: "abs_i32", t: types.I32, text: "int32_t gl_abs_i32(int32_t a) " +
			"{ return a < 0 ? (int32_t)(0u - (uint32_t)a) : a; }"},
		helperText{name: "mix", t: types.I64, text: "uint64_t gl_mix(uint64_t z) // SplitMix64\n{\n" +
			"    z += 0x9E3779B97F4A7C15u;\n    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;\n" +
			"    z = (z ^ z >> 27) * 0x94D049BB133111EBu;\n    return z ^ z >> 31;\n}"},
		helperText{name: "random_f32", t: types.F32, uses: "mix",
			text: "float gl_random_f32(int64_t seed, int64_t n)\n{\n" +
				"    return (float)(gl_mix((uint64_t)n * 0x9E3779B97F4A7C15u + gl_mix((uint64_t)seed)) >> 40) " +
				"/ 16777216.0f;\n}"},
		helperText{name: "random_f64", t: types.F64, uses: "mix",
			text: "double gl_random_f64(int64_t seed, int64_t n)\n{\n" +
				"    return (double)(gl_mix((uint64_t)n * 0x9E3779B97F4A7C15u + gl_mix((uint64_t)seed)) >> 11) " +
				"/ 9007199254740992.0;\n}"},
	)
}

// fmaText tells whether fused multiply-adds are instructions of a processor. The
// function that C has otherwise takes a hundred times as long as a product and a
// sum, so that these take its place.
const fmaText = "#if " + HasFMA + `
#define GL_FMA // the processor has fused multiply-add; elsewhere products are rounded before they are added
#endif`

// HasFMA is the condition of C's preprocessor for that.
const HasFMA = "defined __FMA__ || defined __ARM_FEATURE_FMA || defined __FP_FAST_FMA || " +
	"defined _MSC_VER && defined __AVX2__"

// helperDefs prints the helpers that were called, in a fixed order.
func (p *printer) helperDefs() string {
	want := map[string]bool{}
	for _, h := range helperTexts {
		if p.helpers[h.name] {
			want[h.name] = true
			for _, name := range strings.Fields(h.uses) {
				want[name] = true
			}
		}
	}
	var b strings.Builder
	for _, h := range helperTexts {
		if !want[h.name] {
			continue
		}
		b.WriteString(h.head)
		if !h.bare {
			b.WriteString(p.HelperHead)
		}
		text := h.text
		if strings.Contains(text, "%[") {
			suffix := ""
			if h.t == types.F32 {
				suffix = "f"
			}
			text = fmt.Sprintf(h.text, p.Types[h.t], h.t, suffix)
		}
		if p.Native != nil {
			text = p.Native.Replace(text)
		}
		b.WriteString(text)
		b.WriteString("\n")
	}
	return b.String()
}
