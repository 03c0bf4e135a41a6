package lang

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"pgregory.net/rapid"
)

// many checks a property often; one check is quick.
func many(t *testing.T, prop func(*rapid.T)) {
	for range 20 {
		rapid.Check(t, prop)
	}
}

// dump returns a syntax tree as text, without places: equal dumps are equal
// trees.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			b.WriteString(" ")
			dumpValue(b, v.Index(i))
		}
		b.WriteString("]")
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[span]() {
			return
		}
		b.WriteString("(" + v.Type().Name())
		for i := range v.NumField() {
			b.WriteString(" ")
			dumpValue(b, v.Field(i))
		}
		b.WriteString(")")
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// comments returns the texts of a file's comments.
func comments(f *File) []string {
	var list []string
	for _, t := range f.tokens {
		if t.isComment() {
			list = append(list, trimLines(f.Source.Text[t.Start:t.End]))
		}
	}
	return list
}

// checkFormat checks what Format promises of any text that parses.
func checkFormat(t interface{ Fatalf(string, ...any) }, text string) {
	before, diags := Parse(diag.NewSource("a", text))
	if diags.HasErrors() {
		return
	}
	once := before.Format()
	src := diag.NewSource("b", once)
	after, diags := Parse(src)
	if len(diags) > 0 {
		t.Fatalf("formatted text does not parse:\n%s\n%s", once, diag.Render(src, diags, diag.Style{}))
	}
	if a, b := dump(before.Items), dump(after.Items); a != b {
		t.Fatalf("formatting changed the tree of\n%s\nto that of\n%s\n%s\n%s", text, once, a, b)
	}
	if a, b := comments(before), comments(after); !reflect.DeepEqual(a, b) {
		t.Fatalf("formatting changed the comments %q to %q", a, b)
	}
	if twice := after.Format(); twice != once {
		t.Fatalf("formatting is not idempotent on\n%s\nonce:\n%s\ntwice:\n%s", text, once, twice)
	}
}

// checkTree checks that every node lies within its parent and in the text.
func checkTree(t interface{ Fatalf(string, ...any) }, f *File) {
	n := len(f.Source.Text)
	var visit func(v reflect.Value, outer diag.Range)
	visit = func(v reflect.Value, outer diag.Range) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !v.IsNil() {
				visit(v.Elem(), outer)
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i), outer)
			}
		case reflect.Struct:
			if node, ok := v.Addr().Interface().(Node); ok {
				r := node.Span()
				if r.Start > r.End || r.Start < outer.Start || r.End > outer.End {
					t.Fatalf("%T at %v is not inside %v in\n%s", node, r, outer, f.Source.Text)
				}
				outer = r
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					visit(v.Field(i), outer)
				}
			}
		}
	}
	visit(reflect.ValueOf(f.Items), diag.Range{Start: 0, End: n})
}

// scraps are what random texts are glued from: everything that means something
// somewhere.
var scraps = strings.Fields(`parameter iterator int double float bool byte boundary allocin copyin copyout constant
	coefficient stencil function initial iterate until check max swap rotate sum in min reduce color each on low high shmem
	gmem no-shmem #pragma #assign stream block unroll occupancy inout u v k j i N a r 0 1 2 1.5 .5 1. 1e-3 0x1F 2.0f
	+ - * / % ^ & | && || ! == != < <= > >= = += -= *= /= &= |= ? : ; , . .. # ( ) [ ] { }
	u[k][j][i] u[k,j,i] [0:N-1]: (a) {1,2}; (a); (u,v) { } */ /* // /*c*/ $ é`)

func TestRandomTexts(t *testing.T) {
	many(t, func(t *rapid.T) {
		var b strings.Builder
		for _, s := range rapid.SliceOfN(rapid.SampledFrom(scraps), 0, 60).Draw(t, "scraps") {
			b.WriteString(s)
			b.WriteString(rapid.SampledFrom([]string{"", " ", " ", "\n", "\n\n\n", " // x \n", "/* y\n z */",
				"\t"}).Draw(t, "gap"))
		}
		checkText(t, b.String())
	})
}

// TestRandomGaps changes the white space and comments of right texts.
func TestRandomGaps(t *testing.T) {
	cases := readCases(t, filepath.Join("testdata", "format.txt"))
	many(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cases).Draw(t, "case")
		var diags diag.List
		toks := scan(c.source, &diags)
		var b strings.Builder
		line := 1
		for _, tok := range toks {
			gap := rapid.SampledFrom([]string{"", " ", "\n", "\n\n\n", " // x \n", "/* y\n z */", " /*c*/ ", "\t",
				";"}).Draw(t, "gap")
			if tok.Line > line || strings.HasSuffix(b.String(), "x") {
				gap = "\n" + gap
			}
			line = tok.Line
			if gap == "" {
				gap = " "
			}
			b.WriteString(gap)
			b.WriteString(c.source[tok.Start:tok.End])
		}
		checkText(t, b.String())
	})
}

func checkText(t interface{ Fatalf(string, ...any) }, text string) {
	src := diag.NewSource("a", text)
	f, diags := Parse(src)
	if len(diags) > maxErrors+1 {
		t.Fatalf("%d diagnostics", len(diags))
	}
	diag.Render(src, diags, diag.Style{})
	checkTree(t, f)
	checkFormat(t, text)
}

func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		for _, c := range readCases(f, file) {
			f.Add(c.source)
		}
	}
	for _, s := range scraps {
		f.Add(s)
	}
}

func FuzzScan(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		var diags diag.List
		end, line := 0, 1
		for _, tok := range scan(text, &diags) {
			if tok.Start < end || tok.End < tok.Start || tok.End > len(text) {
				t.Fatalf("token %v overlaps the one before it", tok)
			}
			if tok.End == tok.Start && tok.Kind != EOF {
				t.Fatalf("token %v is empty", tok)
			}
			line += strings.Count(text[end:tok.Start], "\n")
			if tok.Line != line {
				t.Fatalf("token %v is on line %d", tok, line)
			}
			line += strings.Count(text[tok.Start:tok.End], "\n")
			end = tok.End
		}
	})
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("a", text)
		file, diags := Parse(src)
		diag.Render(src, diags, diag.Style{})
		checkTree(t, file)
	})
}

func FuzzFormat(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) { checkFormat(t, text) })
}

// TestDeepAndLong feeds what could take the stack or the memory.
func TestDeepAndLong(t *testing.T) {
	const n = 100_000
	for name, text := range map[string]string{
		"parentheses": "parameter N = " + strings.Repeat("(", n),
		"minus":       "parameter N = " + strings.Repeat("-", n) + "1;",
		"powers":      "parameter N = 2" + strings.Repeat("^-2", n) + ";",
		"calls":       "parameter N = " + strings.Repeat("f(", n),
		"choices":     "parameter N = " + strings.Repeat("1?", n),
		"blocks":      strings.Repeat("iterate 2 {", n/2),
		"ranges":      strings.Repeat("iterate (", n),
		"tables":      "double c[2] = " + strings.Repeat("{", n),
		"sums":        "parameter N = " + strings.Repeat("sum (r in 1..2) ", n/4),
		"additions":   "parameter N = 1" + strings.Repeat("+1", n) + ";",
		"strange":     strings.Repeat("$ a\n", n),
		"names":       strings.Repeat("a ", n),
		"long name":   strings.Repeat("a", 10*n) + ";",
		"comment":     "/*" + strings.Repeat("\n", 10*n),
		"too long":    strings.Repeat(" ", MaxSource+1),
	} {
		t.Run(name, func(t *testing.T) {
			src := diag.NewSource("a", text)
			_, diags := Parse(src)
			if !diags.HasErrors() {
				t.Fatal("no error")
			}
			if out := diag.Render(src, diags, diag.Style{}); len(out) > 64<<10 {
				t.Fatalf("%d bytes of diagnostics", len(out))
			}
		})
	}
}
