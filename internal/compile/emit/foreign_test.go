package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

func TestForeign(t *testing.T) {
	for _, c := range []struct{ text, c, python, fortran, cmake, markdown, any string }{
		{"heat.loom", "heat.loom", "heat.loom", "heat.loom", "heat.loom", "heat.loom", "heat.loom"},
		{"a b-2=[3:4]@1{x}", "a b-2=[3:4]@1{x}", "a b-2=[3:4]@1{x}", "a b-2=[3:4]@1{x}", "a b-2=%5B3:4%5D@1{x}",
			"a b-2=[3:4]@1{x}", "a b-2=%5B3:4%5D@1{x}"},
		{`a\x`, "a%5Cx", "a%5Cx", "a%5Cx", "a%5Cx", `a\x`, "a%5Cx"},
		{`*/??/"`, "%2A/%3F%3F/%22", "*/??/%22", "*/??/%22", "*/??/%22", `*/??/"`, "%2A/%3F%3F/%22"},
		{"!'&", "!'&", "!'&", "%21%27%26", "!'&", "!'&", "%21%27%26"},
		{"${x};", "${x};", "${x};", "${x};", "%24{x}%3B", "${x};", "%24{x}%3B"},
		{"`|", "`|", "`|", "`|", "`|", "%60%7C", "%60%7C"},
		{"50%", "50%25", "50%25", "50%25", "50%25", "50%25", "50%25"},
		{"\n\r\t\x00\x1b\x7f", "%0A%0D%09%00%1B%7F", "%0A%0D%09%00%1B%7F", "%0A%0D%09%00%1B%7F", "%0A%0D%09%00%1B%7F",
			"%0A%0D%09%00%1B%7F", "%0A%0D%09%00%1B%7F"},
		{"ä\u202e\u2028\xff\ufffd", "%C3%A4%E2%80%AE%E2%80%A8%FF%EF%BF%BD", "%C3%A4%E2%80%AE%E2%80%A8%FF%EF%BF%BD",
			"%C3%A4%E2%80%AE%E2%80%A8%FF%EF%BF%BD", "%C3%A4%E2%80%AE%E2%80%A8%FF%EF%BF%BD",
			"ä%E2%80%AE%E2%80%A8%FF\ufffd", "%C3%A4%E2%80%AE%E2%80%A8%FF%EF%BF%BD"},
	} {
		f := foreign(c.text)
		for _, k := range []struct{ language, got, want string }{
			{"C", f.C(), c.c}, {"Python", f.Python(), c.python}, {"Fortran", f.Fortran(), c.fortran},
			{"CMake", f.CMake(), c.cmake},
			{"Markdown", f.Markdown(), c.markdown}, {"any", fmt.Sprint(f), c.any},
		} {
			if k.got != k.want {
				t.Errorf("%q in %s is %q, want %q", c.text, k.language, k.got, k.want)
			}
		}
	}
	if got := foreign(strings.Repeat("*", 300)).Fortran(); len(got) != fortranText || !strings.HasSuffix(got, "*...") {
		t.Errorf("Fortran gets %q", got)
	}
}

// hostile are names of files that do harm where they stand unescaped in the
// code of one language or another: they would make a file called harm, or
// break the code.
var hostile = []string{
	"a\\x.loom",
	"a\\N{no such}.loom",
	`x"""; import os; os.system("touch harm"); y = """.loom`,
	"x\nfile(TOUCH ${CMAKE_CURRENT_SOURCE_DIR}/harm)\nexecute_process(COMMAND touch harm) #.loom",
	"x]]\n#[[${CMAKE_VERSION};$ENV{HOME}\n.loom",
	"x\n#include <stdlib.h>\n__attribute__((constructor)) static void harm(void) { system(\"touch harm\"); } //",
	"x\r__attribute__((constructor)) static void harm(void) { no_such(); } //",
	"x */ int harm = no_such; /* y.loom",
	"x /* y.loom",
	"continued \\",
	"continued ??/",
	"x\ncall execute_command_line('touch harm')\n!.loom",
	"x` y | z `.loom",
	"f{0}{self.harm}%s%n%d.loom",
	"\x00\x1a\x1b[31m\u202e\u2066\u2028\u2029\ufeff\xff.loom",
	strings.Repeat("*&", 120) + ".loom",
}

// No name of a file and no text of a plan reaches a compiler, an interpreter or
// CMake as anything but a comment.
func TestLibraryOfHostileNames(t *testing.T) {
	t.Parallel()
	need(t, "gfortran")
	need(t, "cmake")
	const text = `parameter N=8; iterator i; double u[N]; boundary u : clamp; copyin u; copyout u;
stencil s (u) { u[i] += 1; }
s (u);`
	for n, name := range append(slices.Clone(hostile), strings.Join(hostile, "\n")) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := libraryProgram(t, name, text)
			modules, err := lower.Variants(p, lower.Options{Target: lower.CPU}, []schedule.Plan{{}, {}})
			if err != nil {
				t.Fatal(err)
			}
			for _, variants := range [][]Variant{
				{{Module: modules[0], Plan: name, Cells: 8}, {Module: modules[1], Plan: name, Cells: 80}}, nil,
			} {
				files, err := Library(modules[0], LibraryOptions{Source: name, Plan: name, Variants: variants})
				if err != nil {
					t.Fatal(err)
				}
				lib := libraryName(p.Name)
				b := &built{name: lib, module: pythonModule(lib), class: pythonClass(lib), dir: t.TempDir()}
				for _, f := range files {
					write(t, filepath.Join(b.dir, f.Name), f.Text)
					for at, line := range strings.Split(f.Text, "\n") {
						if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) &&
							f.Name != "README.md" {
							t.Errorf("%s:%d: %q", f.Name, at+1, line)
						}
						if len(line) > 132 && strings.HasSuffix(f.Name, ".f90") {
							t.Errorf("%s:%d: %d columns", f.Name, at+1, len(line))
						}
					}
				}
				b.sh(t, "gcc %s -trigraphs -fsyntax-only %s.c", testFlags+" -Wno-unknown-pragmas", lib)
				if variants != nil {
					continue // they change no other file
				}
				b.sh(t, "gcc %s -trigraphs -fPIC -shared %s.c -o lib%s.so -lm",
					testFlags+" -Wno-unknown-pragmas", lib, lib)
				b.sh(t, "gcc %s -trigraphs -fsyntax-only main.c && "+
					"g++ -std=c++14 -trigraphs -Wall -Wextra -Werror -fsyntax-only -x c++ main.c", testFlags)
				b.sh(t, "gfortran -std=f2018 -Wall -Werror=line-truncation -fsyntax-only %s.f90", lib)
				b.sh(t, "%s -W error -c 'import %s; print(%s.%s().shape(\"u\"))'",
					python(t), b.module, b.module, b.class)
				if n == len(hostile) { // the longest takes in all others
					b.sh(t, "cmake -S . -B build -D%s_NATIVE=OFF -D%s_OPENMP=OFF",
						strings.ToUpper(lib), strings.ToUpper(lib))
				}
				for _, dir := range []string{b.dir, filepath.Join(b.dir, "build")} {
					if _, err := os.Lstat(filepath.Join(dir, "harm")); err == nil {
						t.Errorf("the name did harm in %s", dir)
					}
				}
			}
		})
	}
}
