package proof

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// documents returns the programs that people are shown: every example, and
// every fenced program of the documents, by name.
func documents(t *testing.T) (names []string, sources map[string]*diag.Source) {
	t.Helper()
	sources = map[string]*diag.Source{}
	add := func(name, text string) {
		names = append(names, name)
		sources[name] = diag.NewSource(name, text)
	}
	root := filepath.Join("..", "..", "..", "..")
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.loom"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		add(filepath.Base(f), string(text))
	}
	fences := 0
	for _, f := range []string{"README.md", filepath.Join("docs", "language.md")} {
		text, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "\n```")[1:] {
			kind, body, _ := strings.Cut(part, "\n")
			if kind == "loom" || kind == "idsl" {
				add(filepath.Base(f)+"_"+string(rune('a'+i%26))+string(rune('a'+i/26))+"."+kind, body)
				fences++
			}
		}
	}
	if fences < 20 {
		t.Fatalf("only %d programs in the documents", fences)
	}
	return names, sources
}

// Every example and every program of the documents computes the same on the
// processor as on the reference, for its first few calls.
func TestDocuments(t *testing.T) {
	ctx := context.Background()
	cache, err := toolchain.OpenCache(filepath.Join(os.TempDir(), "gridloom-proof-test"))
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := toolchain.Find(ctx, os.Getenv, cache)
	if err != nil {
		t.Fatal(err)
	}
	names, sources := documents(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &prover{compiler: compiler, cache: cache, limit: exec.Limit{Leaves: 7}, given: true}
			document(ctx, t, p, sources[name])
		})
	}
}

// document runs one program in strict arithmetic and, if it is an example, in
// that which is the default.
func document(ctx context.Context, t *testing.T, p *prover, src *diag.Source) {
	prog, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	set := map[string]string{}
	for i, q := range prog.Params {
		if q.Default == nil {
			set[q.Name] = []string{"11", "9", "14"}[i%3]
		}
	}
	for _, sc := range prog.Scalars {
		if sc.Argument && sc.Init == nil && sc.Type.IsFloat() {
			set[sc.Name] = "0.375"
		}
	}
	b, list := prog.Bind(set)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	modes := []arith.Mode{arith.Strict}
	if !testing.Short() && !strings.Contains(src.Name, ".md") {
		modes = append(modes, arith.Contract)
	}
	for _, mode := range modes {
		plan, err := randomPlan(uint64(len(src.Name)), prog)
		if err != nil {
			t.Fatal(err)
		}
		reason, err := p.run(ctx, b.In(mode), plan, 1)
		if err != nil {
			t.Errorf("%v: %v", mode, err)
		} else if reason != "" {
			t.Errorf("%v, plan %s: %s", mode, plan, reason)
		}
	}
}
