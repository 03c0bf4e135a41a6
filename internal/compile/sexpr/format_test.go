package sexpr

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormat(t *testing.T) {
	long := strings.Repeat("u", width)
	for _, c := range []struct {
		node Node
		want string
	}{
		{L("run", Name("heat")), "(run heat)\n"},
		{L("run", Name("my heat"), Name(""), A("k%+d", 1)), "(run \"my heat\" \"\" k+1)\n"},
		{
			L("set", A("out"), L("domain", A("all")), A("x"), L("load", A("%s", long), A("k"))),
			"(set out\n  (domain all)\n  x\n  (load " + long + " k))\n",
		},
	} {
		if got := c.node.Format(); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}

func TestFormatOfDeepNodesStaysSmall(t *testing.T) {
	const n = 4096
	chain := A("x")
	for range n {
		chain = L("add", chain, A("x"))
	}
	// Each level opens on a line of its own and closes at its operand's.
	if got, most := len(chain.Format()), n*(len("(add\nx)\n")+4*(deepest+1)); got > most {
		t.Errorf("%d operations take %d characters, want at most %d", n, got, most)
	}
}

func TestFormatReadsBack(t *testing.T) {
	var node func(depth int) *rapid.Generator[Node]
	node = func(depth int) *rapid.Generator[Node] {
		return rapid.Custom(func(t *rapid.T) Node {
			if depth > 0 && rapid.Bool().Draw(t, "list") {
				return Node{Kind: List, List: rapid.SliceOfN(node(depth-1), 0, 8).Draw(t, "list")}
			}
			return Name(rapid.String().Draw(t, "name"))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		n := node(5).Draw(t, "node")
		m, err := ParseOne(n.Format())
		if err != nil {
			t.Fatal(err)
		}
		if !same(n, m) {
			t.Fatalf("%s reads back as %s", n, m)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("(a (b \"c\\n\") ; d\n e)")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := Parse(text)
		if err != nil {
			return
		}
		for _, n := range nodes {
			m, err := ParseOne(n.Format())
			if err != nil || !same(n, m) {
				t.Fatalf("%s reads back as %v, %v", n, m, err)
			}
		}
	})
}
