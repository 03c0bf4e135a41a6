package explain

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

var update = flag.Bool("update", false, "write the golden files anew")

// facts analyses a program of testdata on a machine, with sizes if it has them.
func facts(t *testing.T, name, on string) *analysis.Facts {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	src := diag.NewSource(name, string(text))
	p, diags := lang.Load(src)
	if diags.HasErrors() {
		t.Fatal(diag.Render(src, diags, diag.Style{}))
	}
	p = p.In(arith.Contract)
	b, _ := p.Bind(nil)
	f := analysis.Analyze(p, b)
	m, err := machine.Builtin(on)
	if err != nil {
		t.Fatal(err)
	}
	f.On(m)
	return f
}

var programs = []struct{ file, machine string }{{"heat.loom", "h200"}, {"smoother.loom", "cpu"},
	{"pipeline.loom", "a100"}, {"levels.loom", "p100"}}

var forms = []struct {
	ext   string
	write func(io.Writer, *analysis.Facts) error
}{{"txt", Text}, {"json", plainJSON}, {"svg", SVG}}

func plainJSON(w io.Writer, f *analysis.Facts) error { return JSON(w, f, nil, nil) }

// Spans of each program have a golden, with what forbids them.
func TestSpans(t *testing.T) {
	for _, p := range programs {
		f := facts(t, p.file, p.machine)
		text, err := os.ReadFile(filepath.Join("testdata", p.file))
		if err != nil {
			t.Fatal(err)
		}
		got := []byte(Spans(diag.NewSource(p.file, string(text)), pipeline.FactsOf(f.IR), diag.Style{}))
		golden := filepath.Join("testdata", strings.TrimSuffix(p.file, ".loom")+".spans.txt")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v); run with -update and look at the change", golden, err)
		}
	}
}

func TestGolden(t *testing.T) {
	for _, p := range programs {
		f := facts(t, p.file, p.machine)
		for _, form := range forms {
			var b bytes.Buffer
			if err := form.write(&b, f); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", strings.TrimSuffix(p.file, ".loom")+"."+form.ext)
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s differs; run with -update and look at the change", golden)
			}
		}
	}
}

// TestWidth: text is readable on a terminal of 100 columns.
func TestWidth(t *testing.T) {
	for _, p := range programs {
		var b strings.Builder
		if err := Text(&b, facts(t, p.file, p.machine)); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(b.String(), "\n") {
			if utf8.RuneCountInString(line) > 100 || strings.TrimRight(line, " ") != line {
				t.Errorf("%s, line %d: %q", p.file, i+1, line)
			}
		}
	}
}

// TestJSONReadsBack: what JSON leaves out is what it says it leaves out.
func TestJSONReadsBack(t *testing.T) {
	for _, p := range programs {
		f := facts(t, p.file, p.machine)
		var b, again bytes.Buffer
		if err := plainJSON(&b, f); err != nil {
			t.Fatal(err)
		}
		g := &analysis.Facts{}
		dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(g); err != nil {
			t.Fatal(err)
		}
		if err := plainJSON(&again, g); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: JSON does not read back: %v", p.file, err)
		}
		var s, u strings.Builder
		if SVG(&s, f) != nil || SVG(&u, g) != nil || s.String() != u.String() {
			t.Errorf("%s: the drawing needs what JSON does not have", p.file)
		}
	}
}

// TestDocumented: every JSON field has its line in docs/analysis.md.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "-" {
				continue
			}
			if name == "" {
				t.Errorf("%v.%s has no JSON name", typ, field.Name)
			}
			if !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("docs/analysis.md does not mention %s (%v)", name, typ)
			}
			visit(field.Type)
		}
	}
	visit(reflect.TypeOf(analysis.Facts{}))
	if len(seen) < 15 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

// TestSVGForm: drawings are well-formed and hold every statement.
func TestSVGForm(t *testing.T) {
	for _, p := range programs {
		f := facts(t, p.file, p.machine)
		var b strings.Builder
		if err := SVG(&b, f); err != nil {
			t.Fatal(err)
		}
		dec := xml.NewDecoder(strings.NewReader(b.String()))
		labels := map[string]int{}
		text := false
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", p.file, err)
			}
			switch tok := tok.(type) {
			case xml.StartElement:
				text = tok.Name.Local == "text"
			case xml.CharData:
				if text {
					labels[string(tok)]++
				}
			}
		}
		for _, s := range f.Calls {
			for _, st := range s.Statements {
				if labels[st.Target] == 0 {
					t.Errorf("%s: nothing is labelled %s", p.file, st.Target)
				}
			}
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	f := facts(t, "heat.loom", "h200")
	for _, form := range forms {
		if err := form.write(broken{}, f); err != io.ErrShortWrite {
			t.Errorf("%s: %v", form.ext, err)
		}
	}
}

// TestSVGOfManyStatements: statements share nodes where there are so many that
// a picture of all would be unreadable, and larger than the machine.
func TestSVGOfManyStatements(t *testing.T) {
	body := func(n int, line func(q int) string) string {
		var b strings.Builder
		for q := range n {
			b.WriteString(line(q))
		}
		return "parameter N = 64; iterator i; double u[N], v[N], w[N]; stencil s (v, w, u) {\n" + b.String() +
			"}\ns (v, w, u);\n"
	}
	sum := func(q int) string { return fmt.Sprintf("%s[i] += %d*u[i];\n", []string{"v", "w"}[q%2], q) }
	for _, c := range []struct {
		name   string
		n      int
		line   func(q int) string
		nodes  int // of statements
		inside string
	}{
		{"one by one", 250, sum, 250, "2 flops"},
		{"one loop", 4096, sum, 1, "4096 statements, "},
		{"a loop for each", 4096, func(q int) string {
			if q%2 == 0 {
				return "v[i] = u[i] + w[i];\n"
			}
			return "w[i] = v[i+1];\n"
		}, 128, "32 statements, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, diags := lang.Load(diag.NewSource("long.loom", body(c.n, c.line)))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			f := analysis.Analyze(p, nil)
			g := draw(f, f.Calls[0])
			nodes, bends := 0, 0
			for _, n := range g.nodes {
				if n.class != "input" {
					nodes++
				}
			}
			for _, e := range g.edges {
				bends += len(e.path) - 2
			}
			if nodes != c.nodes || bends > maxBends {
				t.Errorf("%d nodes, want %d; %d bends", nodes, c.nodes, bends)
			}
			var out strings.Builder
			if err := SVG(&out, f); err != nil || !strings.Contains(out.String(), c.inside) {
				t.Errorf("the picture does not say %q (error %v)", c.inside, err)
			}
		})
	}
}
