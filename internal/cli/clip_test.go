package cli

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	path := "/" + strings.Repeat("folder/", 50) + "u.npy"
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"--set N=abc: it is no number", "--set N=abc: it is no number"},
		{path + ": there is no such file\nnext", path + ": there is no such file\nnext"},
		{"--set N=" + long + ": it is no number",
			"--set N=" + long[:98] + "... (99903 more characters) it is no number"},
		{"a\n" + long + "\nb", "a\n" + long[:100] + "... (99900 more characters)\nb"},
		{strings.Repeat("ab ", 10_000), strings.Repeat("ab ", 666) + "ab... (28000 more characters)"},
		{strings.Repeat("x", 99) + strings.Repeat("é", 1000), strings.Repeat("x", 99) + "... (1000 more characters)"},
	} {
		if got := clip(test.text); got != test.want {
			t.Errorf("%.50s: %q, want %q", test.text, got, test.want)
		}
	}
}
