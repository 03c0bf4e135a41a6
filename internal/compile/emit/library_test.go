package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

func TestLibraryNames(t *testing.T) {
	for _, c := range []struct{ program, name, module, class string }{
		{"heat", "heat", "heat", "Heat"},
		{"gray_scott", "gray_scott", "gray_scott", "GrayScott"},
		{"wave", "wave", "wave_stencil", "Wave"},
		{"none", "none", "none", "None_"},
		{"double", "double_stencil", "double_stencil", "DoubleStencil"},
		{"exp", "exp_stencil", "exp_stencil", "ExpStencil"},
		{"String", "String_stencil", "String_stencil", "StringStencil"},
		{"test", "test_stencil", "test_stencil", "TestStencil"},
		{"m", "m_stencil", "m_stencil", "MStencil"},
		{"numpy", "numpy", "numpy_stencil", "Numpy"},
		{"7-point stencil", "stencil_7_point_stencil", "stencil_7_point_stencil", "Stencil7PointStencil"},
		{"größe", "gr__e", "gr__e", "GrE"},
		{"gl_min_f64", "gl_min_f64_stencil", "gl_min_f64_stencil", "GlMinF64Stencil"},
		{"", "stencil_", "stencil_", "Stencil"},
	} {
		name := libraryName(c.program)
		if name != c.name || pythonModule(name) != c.module || pythonClass(name) != c.class {
			t.Errorf("%q: %s %s %s, want %s %s %s", c.program, name, pythonModule(name), pythonClass(name),
				c.name, c.module, c.class)
		}
	}
}

func TestNamespace(t *testing.T) {
	c, f, py := newNamespace(legalC), newNamespace(legalFortran), newNamespace(legalPython)
	f.fold, f.limit = true, 10
	var got []string
	for _, name := range []string{
		"N", "n", "for", "handle", "_x", "lambda", "sum", "a_very_long_name", "a_very_long_name_too", "NULL", "gl_x",
	} {
		got = append(got, fmt.Sprintf("%s %s %s", c.pick(name), f.pick(name), py.pick(name)))
	}
	want := `N N N
n n_2 n
v_for for for_
handle_ handle handle
v_x v_x v_x
lambda lambda lambda_
sum sum sum_
a_very_long_name a_very_lon a_very_long_name
a_very_long_name_too a_very_l_2 a_very_long_name_too
v_NULL NULL NULL
v_gl_x gl_x gl_x`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestWrapCommas(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short(a, b);", "short(a, b);"},
		{"    int function(int first, int second);", "    int function(int first,\n            int second);"},
		{`    call("one, two, three, four, five", 2);`, "    call(\"one, two, three, four, five\",\n            2);"},
		{"// a comment, which is longer than the width, stays", "// a comment, which is longer than the width, stays"},
		{"void f(int first, int second) // does this, and that",
			"void f(int first,\n        int second) // does this, and that"},
		{`    call("no // remark", 1, two, three);`, "    call(\"no // remark\", 1,\n            two, three);"},
	} {
		if got := wrapCommas(c.text, `"`, "//", "", 30, 8); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
	if got, want := wrapFortran("    call"+strings.Repeat(" somebody(x),", 9)),
		" &\n        somebody(x),"; !strings.Contains(got, want) {
		t.Errorf("%q does not continue its line", got)
	}
}

// Contents of the handle's own grids need not be kept where the next iteration
// overwrites them before anything reads them.
func TestSpent(t *testing.T) {
	const head = `parameter N; iterator i; double a[N], b[N], c[N]; boundary a, b, c : clamp; copyout a;
stencil all (out, in) { out[i] = in[i-1] + in[i+1]; }
stencil inner (out, in) { [1:N-2] : out[i] = in[i-1] + in[i+1]; }
stencil odd (out, in) { color (i) % 2 == 1 : out[i] = in[i-1]; }
stencil add (out, in) { out[i] += in[i-1]; }
stencil over (out, in) { out[i] = in[i-1]; out[i] = 2*out[i]; }
`
	for _, c := range []struct{ body, want string }{
		{"iterate 3 { all (b, a); swap (a, b); }", "b"},
		{"iterate 3 { over (b, a); swap (a, b); }", "b"},
		{"iterate 3 { inner (b, a); swap (a, b); }", ""},
		{"iterate 3 { odd (b, a); swap (a, b); }", ""},
		{"iterate 3 { add (b, a); swap (a, b); }", ""},
		{"iterate 3 { all (a, b); swap (a, b); }", ""},
		{"iterate 3 { all (c, a); rotate (b, a, c); }", "b c"},
		{"iterate 3 { all (c, b); rotate (a, b, c); }", "c"},
		{"iterate 3 { swap (b, c); all (a, a); }", "b c"},
		{"iterate 3 { iterate 2 { all (b, a); } swap (a, b); }", ""},
		{"all (b, a); swap (a, b);", "b"},
		{"all (b, a); all (c, b); swap (a, c);", "b c"},
	} {
		text := head + c.body
		if strings.Contains(c.body, "all (a, a)") {
			text = strings.ReplaceAll(text, "all (a, a)", "inner (a, a)")
			text = strings.Replace(text, "out[i] = in[i-1] + in[i+1]; }\nstencil odd",
				"out[i] = 2*in[i]; }\nstencil odd", 1)
		}
		p := libraryProgram(t, "spent", text)
		m, err := lower.Program(p, lower.Options{Target: lower.CPU})
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLibrary(m, LibraryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range l.OwnGrids() {
			if l.spent(g.grid, l.once()) {
				got = append(got, g.Name)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: spent are %q, want %q", c.body, text, c.want)
		}
	}
}

func TestLibraryRefuses(t *testing.T) {
	var grids []string
	for n := range maxLibraryGrids + 1 {
		grids = append(grids, fmt.Sprintf("g%d[N]", n))
	}
	many := strings.Join(grids, ", ")
	for _, c := range []struct{ text, want string }{
		{"parameter N;", "nothing goes into the program or comes out of it, so it makes no library: " +
			"name grids in copyin and copyout"},
		{"parameter N; iterator i; double " + many + "; copyin " + strings.ReplaceAll(many, "[N]", "") + ";",
			"the program has 63 grids that are copied in or out; the interface of a library has room for 62"},
		{"parameter N = 4; iterator i; double u[N], c = 1.0/N, d = 2*c; coefficient d; copyout u; " +
			"stencil s () { u[i] = d; } s ();",
			"the coefficient d depends on the sizes, so a library cannot hold it as a number: " +
				"lower the program without a binding"},
	} {
		p := libraryProgram(t, "refused", c.text)
		b, errs := p.Bind(map[string]string{"N": "4"})
		if errs.HasErrors() {
			t.Fatal(errs[0].Message)
		}
		m, err := lower.Program(p, lower.Options{Target: lower.CPU, Bound: b})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Library(m, LibraryOptions{Bound: b}); err == nil || err.Error() != c.want {
			t.Errorf("%.40s: %v, want %s", c.text, err, c.want)
		}
	}
}

// Coefficients that the kernels hold as literals are not in the interface.
func TestLibraryFixedCoefficients(t *testing.T) {
	p := libraryProgram(t, "fixed", `parameter N; iterator i; double u[N], c = 0.5, d = 2*c, e = d; coefficient d;
copyin u; copyout u; stencil s () { u[i] = d*u[i] + e; } s ();`)
	b, errs := p.Bind(map[string]string{"N": "4", "c": "0.75"})
	if errs.HasErrors() {
		t.Fatal(errs[0].Message)
	}
	m, err := lower.Program(p, lower.Options{Target: lower.CPU, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	files, err := Library(m, LibraryOptions{Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(files[0].Text, "fixed_set_d") || !strings.Contains(files[0].Text, "fixed_set_e") {
		t.Error("the header has a function to set d, or none to set e")
	}
	for _, want := range []string{"u[i] = 1.5 * u[i] + e;", "h->scalar.e = 1.5;"} {
		if !strings.Contains(files[1].Text, want) {
			t.Errorf("the source has no %q", want)
		}
	}
}

// The same module gives the same text.
func TestLibraryDeterministic(t *testing.T) {
	for _, c := range libraryPrograms {
		first := packaged(t, libraryProgram(t, c.name, c.text), arith.Fast, "")
		for range 4 {
			for n, f := range packaged(t, libraryProgram(t, c.name, c.text), arith.Fast, "") {
				if f != first[n] {
					t.Errorf("%s: %s differs", c.name, f.Name)
				}
			}
		}
	}
}

// The interface of one program, as people see it.
func TestLibraryGoldens(t *testing.T) {
	for _, c := range libraryPrograms {
		if c.name != "kinds" {
			continue
		}
		for _, f := range packaged(t, libraryProgram(t, c.name, c.text), arith.Contract, "") {
			if f.Name != "kinds.c" {
				golden(t, f.Name+".golden", f.Text)
			}
		}
	}
}

// Every example of the project makes a library that compiles without a warning.
func TestLibraryOfExamples(t *testing.T) {
	need(t, "gcc")
	examples, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	for _, path := range examples {
		name := strings.TrimSuffix(filepath.Base(path), ".loom")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b := &built{dir: t.TempDir()}
			p := libraryProgram(t, name, string(text))
			for _, f := range packaged(t, p, arith.Strict, "") {
				write(t, filepath.Join(b.dir, f.Name), f.Text)
			}
			b.sh(t, "gcc -std=c11 -Wall -Wextra -Werror -pedantic -fopenmp -fsyntax-only *.c")
		})
	}
}
