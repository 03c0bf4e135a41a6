package archtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTree holds the tree to the rules.
func TestTree(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(gomod), "module "+Module+"\n") {
		t.Fatalf("go.mod does not start with module %s", Module)
	}
	tree := os.DirFS(root)
	found, err := Check(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		t.Error(violation)
	}
	// A check that sees no files finds nothing either.
	if _, err := fs.Stat(tree, "internal/compile/types/types.go"); err != nil {
		t.Errorf("the tree is not where it should be: %v", err)
	}
}

// moduleRoot returns the folder above this one that holds go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// TestRules gives one file to the checker at a time.
func TestRules(t *testing.T) {
	const compile = "the compile wing touches no device, disk, network or clock"
	for _, c := range []struct {
		file, imported string
		want           string // what is said of the import; empty if it is allowed
	}{
		{"internal/compile/ir/a.go", Module + "/internal/compile/lang", ""},
		{"internal/compile/ir/a.go", "strings", ""},
		{"internal/compile/ir/a.go", "io/fs", ""},
		{"internal/compile/ir/a.go", "os", compile},
		{"internal/compile/ir/a.go", "os/exec", compile},
		{"internal/compile/ir/a.go", "net/http", compile},
		{"internal/compile/ir/a.go", "time", compile},
		{"internal/compile/ir/a.go", "syscall", compile},
		{"internal/compile/ir/a.go", "github.com/ebitengine/purego", compile},
		{"internal/compile/kernel/sim/a.go", "golang.org/x/sys/unix", compile},
		{"internal/compile/ir/a_test.go", "os", ""},
		{"internal/compile/ir/a_test.go", Module + "/internal/run/exec", ""},
		{"internal/compile/ir/a.go", Module + "/internal/run/exec", "internal/compile may not depend on it"},
		{"internal/compile/ir/a.go", Module + "/internal/tune", "internal/compile may not depend on it"},
		{"internal/compile/ir/a.go", Module + "/internal/serve", "internal/compile may not depend on it"},
		{"internal/compile/ir/a.go", Module + "/internal/cli", "internal/compile may not depend on it"},
		{"internal/compile/ir/a.go", Module, "internal/compile may not depend on it"},
		{"internal/compile/ir/a.go", Module + "/internal/compiler", "internal/compile may not depend on it"},
		{"internal/run/exec/a.go", Module + "/internal/compile/ir", ""},
		{"internal/run/exec/a.go", Module + "/internal/run/worker", ""},
		{"internal/run/exec/a.go", "os/exec", ""},
		{"internal/run/exec/a.go", Module + "/internal/tune/store", "internal/run may not depend on it"},
		{"internal/run/exec/a.go", Module + "/internal/cli", "internal/run may not depend on it"},
		{"internal/tune/search/a.go", Module + "/internal/run/exec", ""},
		{"internal/tune/search/a.go", Module + "/internal/tune/eval/proof", "internal/tune may not depend on it"},
		{"internal/tune/eval/proof/a.go", Module + "/internal/tune/search", ""},
		{"internal/serve/a.go", Module + "/internal/tune/eval/bench", "internal/serve may not depend on it"},
		{"internal/tune/search/a.go", Module + "/internal/serve", "internal/tune may not depend on it"},
		{"internal/tune/search/a.go", Module + "/internal/cli", "internal/tune may not depend on it"},
		{"internal/serve/a.go", Module + "/internal/tune/store", ""},
		{"internal/serve/a.go", Module + "/internal/cli", "internal/serve may not depend on it"},
		{"internal/cli/a.go", Module + "/internal/serve", ""},
		{"internal/other/a.go", Module + "/internal/compile/ir", "the importing package is in no wing"},
		{"cmd/gridloom/a.go", Module + "/internal/cli", ""},
		{"cmd/gridloom/a.go", Module + "/internal/run/exec", "cmd may not depend on it"},
		{"a.go", Module + "/internal/tune", ""},
		{"a.go", Module + "/internal/cli", "the public package may not depend on it"},
		{"internal/run/exec/a.go", "C", "the tree is built without cgo"},
		{"internal/run/exec/a_test.go", "C", "the tree is built without cgo"},
		{"internal/run/exec/testdata/a.go", "C", ""},
		{"build/a.go", "C", ""},
		{".cache/a.go", "C", ""},
	} {
		source := "//go:build never\n\n// Package a is described.\npackage a\n\nimport _ \"" + c.imported + "\"\n"
		found, err := Check(fstest.MapFS{c.file: &fstest.MapFile{Data: []byte(source)}})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		var want []string
		if c.want != "" {
			want = []string{c.file + ": imports " + c.imported + ": " + c.want}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s imports %s:\n got %q\nwant %q", c.file, c.imported, found, want)
		}
	}
}

func TestPackages(t *testing.T) {
	tree := fstest.MapFS{}
	for file, source := range map[string]string{
		"a/one.go":       "package a\n",
		"a/two.go":       "// Package a is described in its second file.\npackage a\n",
		"b/one.go":       "// Copyright, far from the package clause.\n\npackage b\n",
		"c/one.go":       "//go:generate stringer\npackage c\n",
		"d/helpers.go":   "// Package helpers is full of things.\npackage helpers\n",
		"e/only_test.go": "package e\n",
		"e2/g_test.go":   "// Package e2 tests the tree.\npackage e2\n",
		"f/one.go":       "package f\n",
		"f/one_test.go":  "// Package f is described where its readers do not look.\npackage f\n",
	} {
		tree[file] = &fstest.MapFile{Data: []byte(source)}
	}
	found, err := Check(tree)
	want := []string{
		"d/helpers.go: the name of package helpers says nothing of what is inside",
		"b: the package has no comment",
		"c: the package has no comment",
		"e: the package has no comment",
		"f: the package has no comment",
	}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("got %q, %v\nwant %q", found, err, want)
	}
	if _, err := Check(fstest.MapFS{"a/a.go": &fstest.MapFile{Data: []byte("packige a")}}); err == nil {
		t.Error("a file that is not Go was passed over")
	}
}
