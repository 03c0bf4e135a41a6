package search

import (
	"embed"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/tune/search/spec"
)

//go:embed specs
var specs embed.FS

// Specification returns the text of a strategy that is a heuristic specification
// file; false if it is none.
func Specification(name string) (string, bool) {
	for _, b := range builtins {
		if b.name == name {
			text, err := specs.ReadFile("specs/" + b.file)
			return string(text), err == nil
		}
	}
	return "", false
}

// builtin is a strategy that is a file.
type builtin struct{ name, file, set, doc string }

var builtins = []builtin{
	{name: "expert", file: "expert.spec"},
	{name: "dimension", file: "dimension.spec"},
	{name: "optimisation", file: "optimisation.spec"},
	{name: "hybrid", file: "hybrid.spec"},
	{name: "hybrid-restricted", file: "hybrid.spec", set: "restricted=1",
		doc: "hybrid, with blocks neither narrow nor tall (Garvey 2018, 8.3.4)"},
}

// entry returns the strategy that b is.
func (b builtin) entry() entry {
	text, ok := Specification(b.name)
	if !ok {
		panic("search: no file " + b.file)
	}
	f, _ := spec.Parse(diag.NewSource(b.file, text))
	e := entry{Info: Info{Name: b.name, Doc: f.Doc}}
	if b.doc != "" {
		e.Doc = b.doc
	}
	if len(f.Options) > 0 {
		e.Arg = "options of the file, as in n=1"
	}
	e.make = func(p Problem, arg string) (Strategy, error) {
		set := b.set
		if set != "" && arg != "" {
			set += ","
		}
		return NewHeuristic(b.file, text, set+arg, p)
	}
	return e
}

// Specifications lists the strategies that are files.
func Specifications() []string {
	var list []string
	for _, b := range builtins {
		list = append(list, b.name)
	}
	return list
}
