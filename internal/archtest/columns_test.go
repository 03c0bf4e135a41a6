package archtest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tabColumns is the width of a tab.
const tabColumns = 4

// TestColumns finds lines of at most 120 columns in the Go files of the tree.
func TestColumns(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	found, files, err := checkColumns(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range found {
		t.Errorf("%s:%d: %d columns: break the line after at most %d", w.file, w.line, w.columns, columns)
	}
	if files < 500 {
		t.Errorf("%d files were looked at: the tree has more", files)
	}
}

// wideLine is a line with more columns than a line should have.
type wideLine struct {
	file          string
	line, columns int
}

// checkColumns returns the wide lines of Go files, and how many files there are.
func checkColumns(root fs.FS) (found []wideLine, files int, err error) {
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		files++
		wide := wideLines(string(text))
		for _, line := range slices.Sorted(maps.Keys(wide)) {
			found = append(found, wideLine{file, line, wide[line]})
		}
		return nil
	})
	return found, files, err
}

// wideLines returns the columns of a file's wide lines, by number. Lines with raw strings may be wider, since these
// are text in another language, and so may lines with nothing but one word or one string.
func wideLines(text string) map[int]int {
	wide := map[int]int{}
	for i, line := range strings.Split(text, "\n") {
		n := 0
		for _, r := range line {
			if r == '\t' {
				n += tabColumns
			} else {
				n++
			}
		}
		if n > columns {
			wide[i+1] = n
		}
	}
	if len(wide) == 0 {
		return wide
	}
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	tokens := map[int]int{} // by line: how many tokens there are that are no punctuation
	for {
		pos, t, literal := s.Scan()
		if t == token.EOF {
			break
		}
		line := file.Line(pos)
		if t == token.STRING && literal[0] == '`' {
			for n := range 1 + strings.Count(literal, "\n") {
				delete(wide, line+n)
			}
		}
		words := 1
		switch {
		case t == token.COMMENT:
			words = len(strings.Fields(literal)) - 1 // without the slashes
		case !t.IsLiteral() && t != token.IDENT:
			words = 0
		}
		tokens[line] += words
	}
	for line := range wide {
		if tokens[line] <= 1 {
			delete(wide, line)
		}
	}
	return wide
}

// TestColumnRules gives one file to the check at a time.
func TestColumnRules(t *testing.T) {
	long := strings.Repeat("word ", 25)
	for _, c := range []struct{ text, want string }{
		{"package a\n", "map[]"},
		{"package a\n// " + long + "\n", "map[2:128]"},
		{"package a\n// " + strings.Repeat("x", 130) + "\n", "map[]"},
		{"package a\n\nvar x = f(1,\n\t\"" + long + "\")\n", "map[]"},
		{"package a\n\nvar x = f(1, \"" + long + "\")\n", "map[3:141]"},
		{"package a\n\nvar x = `\n" + long + "\n`\n", "map[]"},
		{"package a\n\n" + strings.Repeat("\t", 28) + "var x = 1\n", "map[3:121]"},
	} {
		if got := fmt.Sprint(wideLines(c.text)); got != c.want {
			t.Errorf("%.60q: got %s, want %s", c.text, got, c.want)
		}
	}
	_, files, err := checkColumns(fstest.MapFS{"a/b.go": {}, "a/testdata/c.go": {}, "a/d.md": {}})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}
