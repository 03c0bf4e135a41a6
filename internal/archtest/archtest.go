// Package archtest checks the house rules that the compiler cannot: which wing
// of the tree may import which, and what no package may do. It reads the source
// files themselves, whatever their build constraints.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the tree's root.
const Module = "github.com/gridloom/gridloom"

// wings lists the folders that packages live in, from left to right as the
// program flows, each with those whose packages it may import. A package
// belongs to the first one that its path starts with; "" is the root alone.
var wings = []struct {
	folder string
	may    []string
}{
	{"internal/compile", []string{"internal/compile"}},
	{"internal/run", []string{"internal/compile", "internal/run"}},
	{"internal/tune/eval", []string{"internal/compile", "internal/run", "internal/tune", "internal/tune/eval"}},
	{"internal/tune", []string{"internal/compile", "internal/run", "internal/tune"}},
	{"internal/engine", []string{"internal/compile", "internal/run", "internal/tune", "internal/engine"}},
	{"internal/serve", []string{"internal/compile", "internal/run", "internal/tune", "internal/engine",
		"internal/serve"}},
	{"internal/cli", []string{"internal/compile", "internal/run", "internal/tune", "internal/tune/eval",
		"internal/engine", "internal/serve", "internal/cli", "examples", ""}},
	{"internal/archtest", nil},
	{"cmd", []string{"internal/cli"}},
	{"examples", []string{""}},
	{"", []string{"internal/compile", "internal/run", "internal/tune", "internal/engine"}},
}

// machinery names the packages that reach a device, a disk, a network or a
// clock, with everything below them. The compile wing knows machines on paper
// only and may import none of them.
var machinery = []string{
	"os", "net", "time", "syscall", "io/ioutil", "plugin", "log",
	"golang.org/x/sys", "github.com/ebitengine/purego",
}

// emptyNames are package names that say nothing of what is inside.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "misc"}

// Check returns the violations of the rules in a tree, in the order of paths.
// Test files may import what they like; no file may use cgo.
func Check(tree fs.FS) ([]string, error) {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	packages := map[string]*description{} // by folder
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != "." && skipped(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		folder := path.Dir(file)
		name := syntax.Name.Name
		if slices.Contains(emptyNames, name) {
			report("%s: the name of package %s says nothing of what is inside", file, name)
		}
		test := strings.HasSuffix(file, "_test.go")
		if packages[folder] == nil {
			packages[folder] = &description{}
		}
		packages[folder].add(syntax, test)
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if reason := forbidden(folder, imported, test); reason != "" {
				report("%s: imports %s: %s", file, imported, reason)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if !packages[folder].found() {
			report("%s: the package has no comment", folder)
		}
	}
	return found, nil
}

// skipped reports whether the go command, too, passes over a folder, or git does.
func skipped(name string) bool {
	return name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor" || name == "build" ||
		name == "out"
}

// description tells whether a package is described where its readers look: in
// a file that is not a test, or in any if there are only tests.
type description struct {
	hasCode, inCode, inTests bool
}

func (d *description) add(f *ast.File, test bool) {
	// A comment of directives alone, such as //go:generate, has no text.
	described := strings.TrimSpace(f.Doc.Text()) != ""
	if test {
		d.inTests = d.inTests || described
		return
	}
	d.hasCode = true
	d.inCode = d.inCode || described
}

func (d *description) found() bool {
	return d.inCode || !d.hasCode && d.inTests
}

// forbidden says why a file in folder may not import a package, or nothing.
func forbidden(folder, imported string, test bool) string {
	if imported == "C" {
		return "the tree is built without cgo"
	}
	if test {
		return ""
	}
	from := wing(folder)
	if from == -1 {
		return "the importing package is in no wing"
	}
	if wings[from].folder == "internal/compile" {
		for _, m := range machinery {
			if within(imported, m) {
				return "the compile wing touches no device, disk, network or clock"
			}
		}
	}
	if !within(imported, Module) {
		return ""
	}
	to := wing(strings.TrimPrefix(strings.TrimPrefix(imported, Module), "/"))
	if to == -1 || !slices.Contains(wings[from].may, wings[to].folder) {
		return fmt.Sprintf("%s may not depend on it", describe(wings[from].folder))
	}
	return ""
}

// wing returns the place in wings of a folder, or -1.
func wing(folder string) int {
	if folder == "." {
		folder = ""
	}
	return slices.IndexFunc(wings, func(w struct {
		folder string
		may    []string
	}) bool {
		if w.folder == "" {
			return folder == ""
		}
		return within(folder, w.folder)
	})
}

// within reports whether a path is another one or lies below it.
func within(p, root string) bool {
	return p == root || strings.HasPrefix(p, root+"/")
}

func describe(folder string) string {
	if folder == "" {
		return "the public package"
	}
	return folder
}
