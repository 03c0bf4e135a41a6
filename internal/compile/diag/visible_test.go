package diag

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, visible, line, json string }{
		{"plain ä 日本 \u00a0", "plain ä 日本 \u00a0", "plain ä 日本 \u00a0", "plain ä 日本 \u00a0"},
		{"a\n\tb", "a\n\tb", "a�b"[:1] + "��b", "a\n\tb"},
		{"\x1b[31m", "�[31m", "�[31m", `\u001b[31m`},
		{"a\rb\x00\x7f", "a�b��", "a�b��", `a\u000db\u0000\u007f`},
		{"\u009b2J", "�2J", "�2J", `\u009b2J`},
		{"\u202e\u2066\u200d\ufeff", "����", "����", `\u202e\u2066\u200d\ufeff`},
		{"\u2028\u2029", "��", "��", `\u2028\u2029`},
		{"\U000e0041", "�", "�", `\udb40\udc41`},
		{"a\xffb\xc3", "a�b�", "a�b�", `a\ufffdb\ufffd`},
		{"�", "�", "�", "�"},
	} {
		if got := Visible(c.text); got != c.visible {
			t.Errorf("Visible(%q) = %q, want %q", c.text, got, c.visible)
		}
		if got := Line(c.text); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.text, got, c.line)
		}
		for n, want := range []string{c.visible, c.json} {
			var b strings.Builder
			s := []*Screen{NewScreen(&b), NewJSONScreen(&b)}[n]
			for n := range len(c.text) { // a byte at a time
				if k, err := s.Write([]byte(c.text[n : n+1])); k != 1 || err != nil {
					t.Fatal(k, err)
				}
			}
			s.Close()
			if b.String() != want {
				t.Errorf("of %q a screen shows %q, want %q", c.text, b.String(), want)
			}
		}
	}
}

// A screen shows the same however its text comes, nothing else than Visible, and
// JSON keeps its meaning.
func TestScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()),
			func(b []byte) string { return string(b) })).Draw(t, "text")
		var b strings.Builder
		s := NewScreen(&b)
		for at := 0; at < len(text); {
			n := rapid.IntRange(1, len(text)-at).Draw(t, "n")
			s.Write([]byte(text[at : at+n]))
			at += n
		}
		s.Close()
		if b.String() != Visible(text) {
			t.Fatalf("%q is shown as %q, not %q", text, b.String(), Visible(text))
		}
		if !utf8.ValidString(text) {
			return
		}
		coded, _ := json.Marshal(text)
		b.Reset()
		s = NewJSONScreen(&b)
		s.Write(coded)
		s.Close()
		var back string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != text ||
			Line(b.String()) != b.String() {
			t.Fatalf("%q is shown as %q", text, b.String())
		}
	})
}
