package archtest

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// TestDocuments holds the Markdown documents of the tree to their form: lines of
// at most 120 columns, and links to files that are there.
func TestDocuments(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	found, count, err := checkDocuments(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		t.Error(violation)
	}
	if count < 20 {
		t.Errorf("%d documents were found: there are more", count)
	}
}

const columns = 120

// TestPagesAreListed finds every page of documentation in the page that lists its kind.
func TestPagesAreListed(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	tree := os.DirFS(root)
	for pattern, list := range map[string]string{"docs/*.md": "README.md", "docs/rationale/*.md": "RATIONALE.md"} {
		text, err := fs.ReadFile(tree, list)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := fs.Glob(tree, pattern)
		if err != nil || len(pages) < 5 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			if !strings.Contains(string(text), "]("+page+")") {
				t.Errorf("%s has no link to %s", list, page)
			}
		}
	}
}

// checkDocuments returns what is wrong with the documents below root, and how
// many there are. Folders that no version control keeps are left out.
func checkDocuments(root fs.FS) (found []string, count int, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "build" || name == "out" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		count++
		found = append(found, checkDocument(root, name, string(text))...)
		return nil
	})
	return found, count, err
}

var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// checkDocument returns what is wrong with one document. Code blocks and rows of
// tables may be wider; so may a line of one word, which cannot be broken.
func checkDocument(root fs.FS, name, text string) (found []string) {
	code := false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			code = !code
			continue
		}
		if code {
			continue
		}
		if n := utf8.RuneCountInString(line); n > columns && !strings.HasPrefix(trimmed, "|") &&
			strings.Contains(trimmed, " ") {
			found = append(found, fmt.Sprintf("%s:%d: %d columns: break the line after at most %d", name, i+1,
				n, columns))
		}
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			to, err := url.Parse(m[1])
			if err != nil || to.Scheme != "" || to.Path == "" {
				continue
			}
			if _, err := fs.Stat(root, path.Join(path.Dir(name), to.Path)); err != nil {
				found = append(found, fmt.Sprintf("%s:%d: the link leads to %s, which is not there", name,
					i+1, to.Path))
			}
		}
	}
	if code {
		found = append(found, name+": a code block does not end")
	}
	return found
}

// TestDocumentRules gives one document to the check at a time.
func TestDocumentRules(t *testing.T) {
	long := strings.Repeat("word ", 25)
	tree := fstest.MapFS{"docs/there.md": {}, "README.md": {}}
	for _, c := range []struct{ text, want string }{
		{"short\n", ""},
		{strings.Repeat("ü", 60) + " " + strings.Repeat("ü", 59) + "\n", ""},
		{"a\n" + long + "\n", "docs/a.md:2: 125 columns: break the line after at most 120"},
		{"```\n" + long + "\n```\n", ""},
		{"```\n" + long + "\n", "docs/a.md: a code block does not end"},
		{"| " + long + "|\n", ""},
		{strings.Repeat("x", 130) + "\n", ""},
		{"[one](there.md), [two](../README.md#part), [three](https://example.com/x.md), [four](#here)\n", ""},
		{"[one](gone.md)\n", "docs/a.md:1: the link leads to gone.md, which is not there"},
		{"```\n[one](gone.md)\n```\n", ""},
	} {
		got := strings.Join(checkDocument(tree, "docs/a.md", c.text), "; ")
		if got != c.want {
			t.Errorf("%.40q:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}
