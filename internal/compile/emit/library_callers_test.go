package emit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var updateLibrary = flag.Bool("update-library", false, "rewrite the goldens of the emitted library")

// callerSource copies a caller beside a library.
func callerSource(t *testing.T, b *built, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/library", name))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.dir, "caller_"+name), string(text))
}

// TestLibraryCallers runs the program with cells of every type from C, C++ and
// Fortran, once with the sanitizers in between.
func TestLibraryCallers(t *testing.T) {
	t.Parallel()
	kinds := libraryPrograms[slices.IndexFunc(libraryPrograms, func(c struct {
		name, text string
		cases      []libraryCase
	}) bool {
		return c.name == "kinds"
	})]
	p := libraryProgram(t, kinds.name, kinds.text)
	b := build(t, p, arith.Strict, "")
	for _, name := range []string{"kinds.c", "kinds.cpp", "kinds.f90"} {
		callerSource(t, b, name)
	}
	const link = "-L. -lkinds -Wl,-rpath,'$ORIGIN'"
	for _, c := range []struct{ tool, build string }{
		{"gcc", "gcc -std=c11 -Wall -Wextra -Werror -pedantic caller_kinds.c -o caller " + link},
		{"g++", "g++ -std=c++17 -Wall -Wextra -Werror -pedantic caller_kinds.cpp -o caller " + link},
		{"gfortran",
			"gfortran -std=f2018 -Wall -Wextra -Werror -pedantic kinds.f90 caller_kinds.f90 -o caller " + link},
		{"gcc", "gcc -std=c11 -g -O1 -fopenmp -ffp-contract=off -fsanitize=address,undefined " +
			"-fno-sanitize-recover=all -Wno-unused-result kinds.c caller_kinds.c -o caller -lm"},
	} {
		t.Run(strings.Join(strings.Fields(c.build)[:2], " "), func(t *testing.T) {
			need(t, c.tool)
			b.sh(t, "%s", c.build)
			for n, use := range kinds.cases {
				if c.tool == "gfortran" && strings.Contains(use.given, "count") {
					continue // that caller has fewer inputs
				}
				use.scalars = strings.ReplaceAll(use.scalars, " scale=0.5", "")
				want := expect(t, p, use)
				folder := filepath.Join(t.TempDir(), fmt.Sprint(n))
				if err := os.Mkdir(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				for name, data := range want.in {
					write(t, filepath.Join(folder, name+".in"), string(data))
				}
				args := folder
				for _, name := range []string{"M", "N", "shift", "off", "weight", "rule"} {
					args += " " + want.values[name]
				}
				for _, call := range use.calls {
					args += fmt.Sprintf(" %d", call)
				}
				said := strings.TrimSpace(b.sh(t, "./caller %s", args))
				for name, data := range want.out {
					got, err := os.ReadFile(filepath.Join(folder, name+".out"))
					if err != nil {
						t.Fatal(err)
					}
					if d := differs(p.Grid(name).Type, got, data); d != "" {
						t.Errorf("%+v: %s: %s", use, name, d)
					}
				}
				total, err := strconv.ParseFloat(said, 32)
				if err != nil {
					t.Fatal(err)
				}
				if got := op.Float(types.F32, total); !strings.Contains(want.scalars, "total "+pythonHex(got.F)+"\n") {
					t.Errorf("%+v: total is %s, want\n%s", use, said, want.scalars)
				}
			}
		})
	}
}

// The interface is clean in every language, the names of the sources being
// what they may.
func TestLibraryInterfaces(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"gcc", "g++", "gfortran"} {
		need(t, tool)
	}
	for _, c := range libraryPrograms {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &built{name: libraryName(c.name), dir: t.TempDir()}
			for _, f := range packaged(t, libraryProgram(t, c.name, c.text), arith.Contract, "") {
				write(t, filepath.Join(b.dir, f.Name), f.Text)
			}
			// No OpenMP.
			b.sh(t, "gcc -std=c11 -O0 -Wall -Wextra -Werror -pedantic main.c %s.c -o example -lm -fwrapv", b.name)
			b.sh(t, "./example %s", strings.Repeat(" 9", strings.Count(c.cases[0].sizes, "=")+1))
			b.sh(t, "g++ -x c++ -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only main.c")
			b.sh(t, "gfortran -std=f2008 -Wall -Wextra -Werror -pedantic -c %s.f90 -o fortran.o", b.name)
		})
	}
}

// Wrong uses return a status and say why. Under the sanitizers, and where
// memory is short.
func TestLibraryMisuse(t *testing.T) {
	t.Parallel()
	p := libraryProgram(t, "misuse", `
parameter M, N = 6;
iterator k, j, i;
double u[M,N], v[M,N], f[N], own[M,M,N], a, b = 2*a;
byte m[M];
copyin u, v, f, m; copyout u, v;
stencil s (out, in) {
  [0:M-1, 0:M-1, 2:N-1] : out[j][i] = in[j-1][i] + in[j+1][i] + f[i]*a + b*m[j] + in[3][i];
}
stencil t (in) { own[k][j][i] = in[j][i]; }
iterate 2 { s (u, v); t (u); swap (u, v); }`)
	b := build(t, p, arith.Contract, "")
	callerSource(t, b, "misuse.c")
	b.sh(t, "gcc -std=c11 -g -O1 -Wall -Wextra -Werror -pedantic -fopenmp -fsanitize=address,undefined "+
		"-fno-sanitize-recover=all misuse.c caller_misuse.c -o sanitized -lm")
	b.sh(t, "gcc -std=c11 -Wall -Wextra -Werror -pedantic caller_misuse.c -o caller -L. -lmisuse -Wl,-rpath,'$ORIGIN'")
	got := b.sh(t, "./sanitized")
	golden(t, "misuse.txt", got)
	if plain := b.sh(t, "./caller"); plain != got {
		t.Errorf("without the sanitizers it says\n%s", plain)
	}

	write(t, filepath.Join(b.dir, "short.c"), `#include "misuse.h"
#include <stdio.h>
int main(void)
{
    misuse *h = NULL;
    if (misuse_new(&h) || misuse_configure(h, 5000, 4000, 1.0) != MISUSE_ERROR_MEMORY)
        return 1;
    puts(misuse_error(h));
    if (misuse_configure(h, 5, 5, 1.0) != MISUSE_OK)
        return 1;
    return misuse_exit(&h);
}
`)
	b.sh(t, "gcc -std=c11 short.c -o short -L. -lmisuse -Wl,-rpath,'$ORIGIN'")
	if got, want := b.sh(t, "ulimit -v 2000000; OMP_NUM_THREADS=1 ./short"),
		"there is no memory for own, which takes 800000000000 bytes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Different handles may be used by different threads at once.
func TestLibraryThreads(t *testing.T) {
	t.Parallel()
	p := libraryProgram(t, "heat", libraryPrograms[0].text)
	b := build(t, p, arith.Strict, "")
	callerSource(t, b, "threads.c")
	b.sh(t, "gcc -std=c11 -g -O1 -fsanitize=thread heat.c caller_threads.c -o caller -lm -lpthread")
	b.sh(t, "./caller")
	b.sh(t, "gcc -std=c11 -O1 caller_threads.c -o shared -L. -lheat -Wl,-rpath,'$ORIGIN' -lpthread")
	b.sh(t, "./shared")
}

// CMake builds, installs and exports; the installed files serve C, Fortran and
// Python.
func TestLibraryCMake(t *testing.T) {
	t.Parallel()
	need(t, "cmake")
	need(t, "gfortran")
	b := &built{dir: t.TempDir()}
	for _, f := range packaged(t, libraryProgram(t, "heat", libraryPrograms[0].text), arith.Strict, "") {
		write(t, filepath.Join(b.dir, f.Name), f.Text)
	}
	b.sh(t, "cmake -S . -B build -DHEAT_FORTRAN=ON -DHEAT_NATIVE=OFF && cmake --build build --parallel 2 && "+
		"cmake --install build --prefix installed")
	if got := b.sh(t, "./build/heat_example 5 6 7"); !strings.HasPrefix(got, "u: least ") {
		t.Errorf("the example says %q", got)
	}
	b.sh(t, "nm -D --defined-only build/libheat.so | grep -q ' T heat_iterate$'")
	if err := os.Mkdir(filepath.Join(b.dir, "use"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.dir, "use/CMakeLists.txt"), `
cmake_minimum_required(VERSION 3.16)
project(use C)
find_package(heat 1.0 REQUIRED)
add_executable(with_shared ../main.c)
target_link_libraries(with_shared heat::heat)
add_executable(with_static ../main.c)
target_link_libraries(with_static heat::heat_static)
`)
	b.sh(t, "cmake -S use -B use/build -DCMAKE_PREFIX_PATH=$PWD/installed && cmake --build use/build --parallel 2")
	example := b.sh(t, "./build/heat_example 5 6 7")
	for _, program := range []string{"with_shared", "with_static"} {
		if got := b.sh(t, "use/build/%s 5 6 7", program); got != example {
			t.Errorf("%s says %q, the example %q", program, got, example)
		}
	}
	if got := b.sh(t, "cd / && PYTHONPATH=%s/installed/lib %s -c 'import heat; "+
		"print(heat.Heat(3, a=0.5).shape(\"u\"))'", b.dir, python(t)); got != "(3, 4, 7)\n" {
		t.Errorf("Python says %q", got)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata/library", name)
	if *updateLibrary {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite it with -update-library):\n%s", name, got)
	}
}

// What does not fit is refused in Python before the library sees it.
func TestLibraryPython(t *testing.T) {
	t.Parallel()
	py := python(t)
	for _, c := range libraryPrograms {
		if c.name != "kinds" {
			continue
		}
		b := build(t, libraryProgram(t, c.name, c.text), arith.Strict, "")
		callerSource(t, b, "refusals.py")
		golden(t, "refusals.txt", b.sh(t, "%s -W error caller_refusals.py", py))
		b.sh(t, "rm libkinds.so")
		if got := b.sh(t, "%s -c 'import kinds' 2>&1 || true", py); !strings.Contains(got,
			"ImportError: libkinds.so is not beside kinds.py nor in its build folder. To make it: cmake -S ") {
			t.Errorf("without its library the module says %q", got)
		}
	}
}
