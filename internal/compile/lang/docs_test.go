package lang

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// fences returns the code blocks of a Markdown text that are marked with a
// language, by the line on which they begin.
func fences(text, language string) map[int]string {
	blocks := make(map[int]string)
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "```"+language {
			continue
		}
		start := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		blocks[start+1] = strings.Join(lines[start:i], "\n") + "\n"
	}
	return blocks
}

// TestDocs checks that the examples of the reference are right, raise no
// warning and are formatted.
func TestDocs(t *testing.T) {
	const file = "../../../docs/language.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"loom", "idsl"} {
		blocks := fences(string(text), language)
		if language == "loom" && len(blocks) < 20 {
			t.Fatalf("%d examples", len(blocks))
		}
		for line, block := range blocks {
			t.Run(fmt.Sprintf("line %d", line), func(t *testing.T) {
				out, p := checked(t, diag.NewSource("x."+language, block))
				if p == nil || language == "loom" && out != "" {
					t.Errorf("%s", out)
				}
				formatted, _ := Format(diag.NewSource("x", block))
				if formatted != block {
					t.Errorf("is formatted as\n%s", formatted)
				}
			})
		}
	}
}
