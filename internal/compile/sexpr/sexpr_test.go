package sexpr

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParsePrintsOnOneLine(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"; nothing", ""},
		{"a", "a"},
		{"(a b\n\t(c))d", "(a b (c)) d"},
		{`(comment "a (b) \"c\"; d" ) ; (e)` + "\n(f)", `(comment "a (b) \"c\"; d") (f)`},
		{`a"b"c`, `a "b" c`},
		{"k+1 -2 1e-06 []", "k+1 -2 1e-06 []"},
		{"()", "()"},
	}
	for _, test := range tests {
		nodes, err := Parse(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		var got []string
		for _, n := range nodes {
			got = append(got, n.String())
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%q: %s, want %s", test.text, s, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"(a\n (b c", "2:2: the list does not end"},
		{"a\n  )", "2:3: there is no list to end here"},
		{`(é "b`, "1:4: the string does not end"},
		{"(x \"a\nb\")", "1:4: the string does not end"},
		{strings.Repeat("(", MaxDepth+1), "1:10001: lists nest more than 10000 deep"},
	}
	for _, test := range tests {
		if _, err := Parse(test.text); err == nil || err.Error() != test.want {
			t.Errorf("%.20q: %v, want %s", test.text, err, test.want)
		}
	}
}

func TestParseOne(t *testing.T) {
	for text, want := range map[string]string{
		"":       "1:1: the text is empty",
		"(a)\nb": "2:1: there is more than one expression",
	} {
		if _, err := ParseOne(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	n, err := ParseOne(" (for i (x))")
	if err != nil || n.Head() != "for" || len(n.Args()) != 2 || n.Args()[1].Col != 9 {
		t.Errorf("%v %v", n, err)
	}
	if h := (Node{Kind: List, List: []Node{{Kind: String, Text: "a"}}}).Head(); h != "" {
		t.Errorf("the head of a list that starts with a string is %q", h)
	}
}

func TestRoundTrip(t *testing.T) {
	var node func(depth int) *rapid.Generator[Node]
	node = func(depth int) *rapid.Generator[Node] {
		return rapid.Custom(func(t *rapid.T) Node {
			switch k := Kind(rapid.IntRange(0, 2).Draw(t, "kind")); {
			case k == List && depth > 0:
				return Node{Kind: List, List: rapid.SliceOfN(node(depth-1), 0, 4).Draw(t, "list")}
			case k == String:
				return Node{Kind: String, Text: rapid.String().Draw(t, "text")}
			}
			return Node{Kind: Atom, Text: rapid.StringMatching(`[a-zA-Z0-9_+.*é-]+`).Draw(t, "atom")}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		n := node(4).Draw(t, "node")
		m, err := ParseOne(n.String())
		if err != nil {
			t.Fatal(err)
		}
		if !same(n, m) {
			t.Fatalf("%s reads back as %s", n, m)
		}
	})
}

func same(a, b Node) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.List) != len(b.List) {
		return false
	}
	for i := range a.List {
		if !same(a.List[i], b.List[i]) {
			return false
		}
	}
	return true
}
