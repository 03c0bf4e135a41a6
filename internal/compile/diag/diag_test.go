package diag

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPosition(t *testing.T) {
	src := NewSource("a", "ab\nçd\r\n\n日本x")
	for _, c := range []struct{ offset, line, col int }{
		{-1, 1, 1}, {0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {5, 2, 2}, {6, 2, 3}, {7, 2, 4}, {8, 3, 1}, {9, 4, 1}, {12, 4, 2},
		{15, 4, 3}, {99, 4, 4},
	} {
		p := src.Position(c.offset)
		if p.Line != c.line || p.Col != c.col {
			t.Errorf("offset %d is at %d:%d, want %d:%d", c.offset, p.Line, p.Col, c.line, c.col)
		}
	}
}

// mark returns the range of what stands between « and » in a text, and the
// text without these.
func mark(text string) (string, Range) {
	start := strings.Index(text, "«")
	text = strings.Replace(text, "«", "", 1)
	end := strings.Index(text, "»")
	return strings.Replace(text, "»", "", 1), Range{start, end}
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a word", "u = «nxt» + 1;", `
a.loom:1:5: error: message
    1 | u = nxt + 1;
      |     ^~~
`},
		{"a place", "u = 1«»\nv", `
a.loom:1:6: error: message
    1 | u = 1
      |      ^
`},
		{"the end of the file", "u\n«»", `
a.loom:2:1: error: message
    2 | 
      | ^
`},
		{"tabs", "\tu\t= «\tx»;", `
a.loom:1:6: error: message
    1 |     u    =     x;
      |            ^~~~~
`},
		{"accents and wide characters", "/* é日e\u0301 */ «日本» = 1", `
a.loom:1:12: error: message
    1 | /* é日e` + "\u0301" + ` */ 日本 = 1
      |            ^~~~
`},
		{"several lines", "a = «b\n  + c»;", `
a.loom:1:5: error: message
    1 | a = b
      |     ^
`},
		{"control characters", "a\x1b[31m«\x00»\r\n", `
a.loom:1:7: error: message
    1 | a�[31m�
      |       ^
`},
		{"bytes that are no text", "\xff«\xfe»", `
a.loom:1:2: error: message
    1 | ��
      |  ^
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, r := mark(c.text)
			var l List
			l.Errorf(r, "message")
			if got := Render(NewSource("a.loom", text), l, Style{}); got != c.want[1:] {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want[1:])
			}
		})
	}
}

func TestRenderHintNotesColor(t *testing.T) {
	src := NewSource("a.loom", "double u;\ndouble u;\n")
	var l List
	l.Warnf(Range{17, 18}, "u is declared %s", "twice").Hintf("drop one").Notef(Range{7, 8}, "first here")
	want := `a.loom:2:8: warning: u is declared twice
    2 | double u;
      |        ^
a.loom:1:8: note: first here
    1 | double u;
      |        ^
      hint: drop one
`
	if got := Render(src, l, Style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	colored := Render(src, l, Style{Color: true})
	plain := strings.NewReplacer(red, "", yellow, "", cyan, "", bold, "", reset, "").Replace(colored)
	if plain != want || !strings.Contains(colored, yellow+"warning:"+reset) {
		t.Errorf("coloured:\n%q", colored)
	}
}

// Neither a name nor what a message says of the text moves the cursor.
func TestRenderHostile(t *testing.T) {
	var l List
	l.Errorf(Range{0, 1}, "no \x1b[2Jname").Hintf("try \u202eemos").Notef(Range{0, 1}, "here\r")
	want := "x�a.loom:1:1: error: no �[2Jname\n    1 | a\n      | ^\nx�a.loom:1:1: note: here�\n    1 | a\n      | " +
		"^\n      hint: try �emos\n"
	if got := Render(NewSource("x\na.loom", "a"), l, Style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestRenderLongLine(t *testing.T) {
	text := strings.Repeat("a", 5000) + "XYZ" + strings.Repeat("b", 5000)
	var l List
	l.Errorf(Range{5000, 5003}, "m")
	lines := strings.Split(Render(NewSource("a", text), l, Style{}), "\n")
	shown, under := lines[1][8:], lines[2][8:]
	if len(shown) > maxWidth+10 || shown[strings.Index(under, "^"):][:3] != "XYZ" || strings.Count(under, "~") != 2 {
		t.Errorf("%s\n%s", shown, under)
	}
}

func TestSort(t *testing.T) {
	var l List
	l.Warnf(Range{5, 6}, "w")
	l.Errorf(Range{5, 6}, "e")
	l.Errorf(Range{1, 2}, "first")
	l.Errorf(Range{5, 6}, "e")
	l.Sort()
	var got []string
	for _, d := range l {
		got = append(got, d.Message)
	}
	if strings.Join(got, " ") != "first e w" || l.Count(Error) != 2 || !l.HasErrors() {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	var l List
	l.Errorf(Range{7, 8}, "no <u>").Hintf("h").Notef(Range{0, 6}, "n")
	got, err := JSON(NewSource("a.loom", "double u;"), l)
	if err != nil {
		t.Fatal(err)
	}
	want := `[
  {
    "file": "a.loom",
    "line": 1,
    "col": 8,
    "end_line": 1,
    "end_col": 9,
    "offset": 7,
    "end_offset": 8,
    "severity": "error",
    "message": "no <u>",
    "hint": "h",
    "notes": [
      {
        "file": "a.loom",
        "line": 1,
        "col": 1,
        "end_line": 1,
        "end_col": 7,
        "offset": 0,
        "end_offset": 6,
        "message": "n"
      }
    ]
  }
]`
	if strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got)) != want {
		t.Errorf("got %s", got)
	}
	if got, _ := JSON(NewSource("a", ""), nil); string(got) != "[]" {
		t.Errorf("no diagnostics are %s", got)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"next", "u", "v", "alpha", "strx", "stry", "in", "out", "Temperature"}
	for name, want := range map[string]string{
		"nxt": "next", "nextt": "next", "enxt": "next", "alhpa": "alpha", "Alpha": "alpha", "strz": "strx",
		"temperture": "Temperature",
		"U":          "u", "w": "", "banana": "", "ot": "out", "next": "", "": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestDistance checks the distance against its definition on short words.
func TestDistance(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		m, n := len(a)-1, len(b)-1
		cost := 1
		if a[m] == b[n] {
			cost = 0
		}
		d := min(slow(a[:m], b)+1, slow(a, b[:n])+1, slow(a[:m], b[:n])+cost)
		if m > 0 && n > 0 && a[m] == b[n-1] && a[m-1] == b[n] {
			d = min(d, slow(a[:m-1], b[:n-1])+1)
		}
		return d
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[abc]{0,5}`).Draw(t, "a")
		b := rapid.StringMatching(`[abc]{0,5}`).Draw(t, "b")
		if got, want := distance(a, b, 100), slow(a, b); got != want {
			t.Fatalf("distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// TestRenderAnything checks that no text and no range breaks the rendering.
func TestRenderAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text"))
		var l List
		l.Errorf(Range{rapid.IntRange(-5, 400).Draw(t, "start"), rapid.IntRange(-5, 400).Draw(t, "end")}, "m")
		out := Render(NewSource("a", text), l, Style{})
		if strings.Count(out, "\n") != 3 || !strings.HasPrefix(strings.Split(out, "\n")[2], "      | ") {
			t.Fatalf("%q", out)
		}
	})
}
