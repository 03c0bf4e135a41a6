package ir

import (
	"fmt"
	"strings"
	"testing"
)

// picture shows the cells that a rule finds around a row of n cells, named a,
// b, c ..., those with their sign turned in upper case.
func picture(kind BoundaryKind, n, around int64) string {
	var b strings.Builder
	for x := -around; x < n+around; x++ {
		at, negate := x, false
		if x < 0 || x >= n {
			at, negate = MapIndex(kind, x+5, 5, 5+n-1)
			at -= 5
		}
		name := string(rune('a' + at))
		if negate {
			name = strings.ToUpper(name)
		}
		if x == 0 || x == n {
			b.WriteByte('|')
		}
		b.WriteString(name)
	}
	return b.String()
}

func TestMapIndex(t *testing.T) {
	for _, c := range []struct {
		kind BoundaryKind
		n    int64
		want string
	}{
		{Clamp, 3, "aaaaaaa|abc|ccccccc"},
		{Periodic, 3, "cabcabc|abc|abcabca"},
		{Mirror, 3, "aabccba|abc|cbaabcc"},
		{AntiMirror, 3, "AabcCBA|abc|CBAabcC"},
		{Reflect, 3, "bcbabcb|abc|babcbab"},
		{Reflect, 4, "babcdcb|abcd|cbabcdc"},
		{AntiReflect, 3, "bCBabCB|abc|BAbcBAb"},
		{Clamp, 1, "aaaaaaa|a|aaaaaaa"},
		{Periodic, 1, "aaaaaaa|a|aaaaaaa"},
		{Mirror, 1, "aaaaaaa|a|aaaaaaa"},
		{AntiMirror, 1, "AaAaAaA|a|AaAaAaA"},
		{Reflect, 1, "aaaaaaa|a|aaaaaaa"},
		{AntiReflect, 1, "aaaaaaa|a|aaaaaaa"},
		{Reflect, 2, "bababab|ab|abababa"},
	} {
		if got := picture(c.kind, c.n, 7); got != c.want {
			t.Errorf("%v of %d cells: %s, want %s", c.kind, c.n, got, c.want)
		}
	}
}

// The rules are what repeated single reflections at the faces give.
func TestMapIndexByReflections(t *testing.T) {
	for n := int64(1); n <= 5; n++ {
		for x := int64(-23); x < n+23; x++ {
			if x >= 0 && x < n {
				continue
			}
			for _, kind := range []BoundaryKind{Mirror, AntiMirror, Reflect, AntiReflect} {
				if n == 1 && (kind == Reflect || kind == AntiReflect) {
					continue
				}
				y, crossings := x, 0
				for ; y < 0 || y >= n; crossings++ {
					switch {
					case y < 0 && (kind == Mirror || kind == AntiMirror):
						y = -1 - y
					case y < 0:
						y = -y
					case kind == Mirror || kind == AntiMirror:
						y = 2*n - 1 - y
					default:
						y = 2*n - 2 - y
					}
				}
				at, negate := MapIndex(kind, x, 0, n-1)
				odd := crossings%2 == 1 && (kind == AntiMirror || kind == AntiReflect)
				if at != y || negate != odd {
					t.Errorf("%v: %d of %d cells is %d, %t, want %d, %t", kind, x, n, at, negate, y, odd)
				}
			}
		}
	}
}

func TestBoundaryNames(t *testing.T) {
	for k := None; k <= Periodic; k++ {
		if got, ok := ParseBoundary(k.String()); !ok || got != k {
			t.Errorf("%v parses as %v, %t", k, got, ok)
		}
	}
	if _, ok := ParseBoundary("sticky"); ok {
		t.Error("there is a boundary called sticky")
	}
	defer func() {
		if fmt.Sprint(recover()) != "ir: none maps no index" {
			t.Error("none maps an index")
		}
	}()
	MapIndex(None, -1, 0, 0)
}
