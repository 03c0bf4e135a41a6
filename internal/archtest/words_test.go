package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// privateWords are words that once named things in this tree and that nobody outside of it would search for, with
// the words of the field that have taken their places (docs/glossary.md).
var privateWords = map[string]string{
	"bed":        "device context, worker context",
	"census":     "space counter",
	"champion":   "incumbent",
	"doubtless":  "the property, such as not retimable",
	"harvest":    "result writer",
	"heed":       "accept",
	"jury":       "cross-check",
	"leash":      "lifeline",
	"leisure":    "idle time",
	"notebook":   "store adapter",
	"occupied":   "busy timer",
	"prospect":   "candidate",
	"remember":   "store, look up",
	"remembered": "stored, memoized",
	"rival":      "challenger, finalist",
	"rivals":     "challengers, finalists",
	"station":    "local lab",
	"thinker":    "strategy driver",
	"thought":    "driver reply",
	"thoughts":   "driver replies",
	"toll":       "cost",
	"weigh":      "judge, cross-check, importance",
	"works":      "compile queue",
	"yardstick":  "baseline",
}

// reservedWords are words of the field that mean one thing each, with the words for what else they once named. A
// package that uses one in its own sense is among wordExceptions.
var reservedWords = map[string]string{
	"machine":  "host, execution, environment; a machine is a description of hardware",
	"machines": "hosts, executions; a machine is a description of hardware",
	"stage":    "call; a stage is one of a pipeline: one statement at one time level",
	"stages":   "calls; a stage is one of a pipeline: one statement at one time level",
	"stager":   "builder of calls; staging is copying to shared memory",
}

// privateKernelWords are such words where kernels are made; elsewhere they may mean something else.
var privateKernelWords = map[string]string{
	"ahead":  "prefetch distance",
	"chain":  "register queue",
	"excess": "resource limit",
	"ring":   "circular buffer",
	"tally":  "block reduction",
}

// kernelFolders are where kernels are made.
var kernelFolders = []string{
	"internal/compile/emit", "internal/compile/kernel", "internal/compile/lower", "internal/compile/schedule",
}

// fieldWord returns the word of the field for a private or reserved word; false if it may be used in a folder.
func fieldWord(folder, word string) (string, bool) {
	field, private := privateWords[word]
	if !private {
		field, private = reservedWords[word]
	}
	if !private && slices.Contains(kernelFolders, folder) {
		field, private = privateKernelWords[word]
	}
	return field, private
}

// wordExceptions are the private and reserved words that a package may use, by its folder, with the reason.
var wordExceptions = map[string]struct {
	reason string
	words  []string
}{
	"internal/tune/eval/bench": {"rivals are the programs of others that figures are compared with",
		[]string{"rival", "rivals"}},
	"internal/tune/eval/contest": {"likewise, and descriptions of hardware",
		[]string{"rival", "rivals", "machine"}},
	"internal/cli":               {"likewise", []string{"rival", "rivals", "machine"}},
	"internal/compile/machine":   {descriptions, []string{"machine"}},
	"internal/cli/explain":       {descriptions, []string{"machine"}},
	"internal/compile/analysis":  {descriptions, []string{"machine"}},
	"internal/compile/lower":     {descriptions + "; stages of pipelines", []string{"machine", "stage"}},
	"internal/compile/pipeline":  {"its stages", []string{"stage", "stages"}},
	"internal/run/device":        {descriptions, []string{"machine"}},
	"internal/run/device/cuda":   {descriptions, []string{"machine"}},
	"internal/run/device/opencl": {descriptions, []string{"machine"}},
	"internal/run/target":        {descriptions, []string{"machine"}},
	"internal/tune/eval/proof":   {descriptions, []string{"machine"}},
	"internal/tune/session":      {descriptions, []string{"machine"}},
}

const descriptions = "descriptions of hardware"

// TestWords finds private words, and reserved ones in another sense, in no name of a file or of anything declared in
// one.
func TestWords(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	found, names, err := checkWords(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, f := range found {
		e := wordExceptions[f.folder]
		if slices.Contains(e.words, f.word) {
			used[f.folder+" "+f.word] = true
			continue
		}
		t.Errorf("%s: %s has the word %q: the field says %s", f.place, f.name, f.word, f.field)
	}
	for _, folder := range slices.Sorted(maps.Keys(wordExceptions)) {
		for _, word := range wordExceptions[folder].words {
			if !used[folder+" "+word] {
				t.Errorf("%s does not need the exception for %q any more", folder, word)
			}
		}
	}
	if names < 10000 {
		t.Errorf("%d names were looked at: the tree has more", names)
	}
}

// privateWord is a private word in a name.
type privateWord struct{ folder, place, name, word, field string }

// checkWords returns the private words in names of files and of declarations, and how many names there are.
func checkWords(root fs.FS) (found []privateWord, names int, err error) {
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go":
			return nil
		}
		look := func(place, name string) {
			names++
			for _, word := range wordsOf(name) {
				if field, private := fieldWord(path.Dir(file), word); private {
					found = append(found, privateWord{path.Dir(file), place, name, word, field})
				}
			}
		}
		look(file, strings.TrimSuffix(path.Base(file), ".go"))
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, id := range declared(parsed) {
			look(set.Position(id.Pos()).String(), id.Name)
		}
		return nil
	})
	return found, names, err
}

// declared returns the identifiers that a file declares: of functions, types, fields, parameters, constants,
// variables and labels.
func declared(f *ast.File) []*ast.Ident {
	var list []*ast.Ident
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			list = append(list, n.Name)
		case *ast.TypeSpec:
			list = append(list, n.Name)
		case *ast.Field:
			list = append(list, n.Names...)
		case *ast.ValueSpec:
			list = append(list, n.Names...)
		case *ast.LabeledStmt:
			list = append(list, n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				list = append(list, identifiers(n.Lhs...)...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				list = append(list, identifiers(n.Key, n.Value)...)
			}
		}
		return true
	})
	return list
}

// identifiers returns the identifiers among expressions.
func identifiers(list ...ast.Expr) []*ast.Ident {
	var ids []*ast.Ident
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// wordsOf splits a name at underscores and capitals, and returns its words in lower case.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r == '_':
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) &&
			unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// TestWordRules gives one file to the check at a time.
func TestWordRules(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a/b.go", "package a\n\nfunc string() {}\n", ""},
		{"a/b.go", "package a\n\ntype thinker struct{}\n", "a thinker"},
		{"a/b.go", "package a\n\ntype x struct{ fastThinker int }\n", "a fastThinker"},
		{"a/b.go", "package a\n\nfunc (x *T) HeedAll(ring int) {}\n", "a HeedAll"},
		{"internal/compile/lower/b.go", "package a\n\nfunc (x *T) HeedAll(ring int) {}\n",
			"internal/compile/lower HeedAll, internal/compile/lower ring"},
		{"a/b.go", "package a\n\nfunc f() { rival := 1; for thought := range 3 { rival = thought } }\n",
			"a rival, a thought"},
		{"a/b.go", "package a\n\nvar embedded, during, chained, working = 1, 2, 3, 4\n", ""},
		{"a/b.go", "package a\n\nfunc f() { g(heed) }\n", ""}, // a use, not a declaration
		{"a/jury_test.go", "package a\n", "a jury_test"},
		{"a/b.go", "package a\n\ntype script struct{ lastStage, Machine, staged int }\n", "a lastStage, a Machine"},
	} {
		found, _, err := checkWords(fstest.MapFS{c.file: {Data: []byte(c.text)}})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var got []string
		for _, f := range found {
			got = append(got, f.folder+" "+f.name)
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.file, c.text, got, c.want)
		}
	}
	for name, want := range map[string]string{
		"HTTPServer": "http server", "oneTwo_three": "one two three", "x": "x", "gpuID": "gpu id", "T4": "t4", "_": "",
	} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, _, err := checkWords(fstest.MapFS{"a/b.go": {Data: []byte("package")}}); err == nil {
		t.Error("a file that does not parse is no error")
	}
}
