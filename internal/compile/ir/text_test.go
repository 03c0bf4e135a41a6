package ir

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

func readProgram(t testing.TB, text string) *Program {
	t.Helper()
	p, err := ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allOfIt(t testing.TB) (*Program, string) {
	t.Helper()
	text, err := os.ReadFile("testdata/all.ir")
	if err != nil {
		t.Fatal(err)
	}
	return readProgram(t, string(text)), string(text)
}

// alike compares two programs node by node: pointers must lead to alike things
// in the same places. Places in the source do not count.
type alike map[[2]uintptr]bool

func (seen alike) values(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		pair := [2]uintptr{a.Pointer(), b.Pointer()}
		if seen[pair] {
			return true
		}
		seen[pair] = true
		return seen.values(a.Elem(), b.Elem())
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return seen.values(a.Elem(), b.Elem())
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[diag.Range]() {
			return true
		}
		for i := range a.NumField() {
			if !seen.values(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !seen.values(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		return x == y || x != x && y != y
	}
	return a.Equal(b)
}

func same(a, b *Program) bool {
	return alike{}.values(reflect.ValueOf(a), reflect.ValueOf(b))
}

func TestTextReadsBack(t *testing.T) {
	p, text := allOfIt(t)
	if err := Verify(p); err != nil {
		t.Fatal(err)
	}
	printed := Text(p)
	q := readProgram(t, printed)
	if again := Text(q); again != printed {
		t.Errorf("printed\n%s\nthen\n%s", printed, again)
	}
	if !same(p, q) {
		t.Error("the text reads back as another program")
	}
	squeeze := func(s string) string {
		return strings.NewReplacer("( ", "(", " )", ")").Replace(strings.Join(strings.Fields(s), " "))
	}
	if squeeze(printed) != squeeze(text) {
		t.Errorf("read and printed\n%s\nfrom\n%s", printed, text)
	}
}

func TestSameTellsProgramsApart(t *testing.T) {
	p, _ := allOfIt(t)
	q, _ := allOfIt(t)
	q.Calls[0].Body[1].Value.(*Cast).X.(*Access).Index[0].Offset++
	if same(p, q) {
		t.Error("a changed offset makes no difference")
	}
}

func TestParseTextErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"(heat)", "1:1: a program is needed here"},
		{"(program)", "1:1: program has no name"},
		{"(program p x)", "1:12: a list that begins with a word is needed here"},
		{"(program p (axis i))", "1:12: a program holds no axis"},
		{"(program p (scalar a f16))", `1:22: no type is called "f16"`},
		{"(program p (scalar a f64 (init (scalar b))))", "1:40: no scalar is called b"},
		{"(program p (scalar a f64 (init (f64 x))))", "1:37: x: not a number that a double can hold"},
		{"(program p (scalar a f64 used used2))", "1:31: scalar has a part too many"},
		{"(program p (axes i) (grid u f64 (dim j 0 1)))", "1:38: no axis is called j"},
		{"(program p (axes i) (grid u f64 (dim i 0 N-1)))", `1:42: no parameter is called "N"`},
		{"(program p (axes i) (grid u f64 (dim i 0 1 (low sticky))))", "1:49: no boundary is called sticky"},
		{"(program p (body (walk)))", "1:18: a body holds no walk"},
		{"(program p (body (iterate (add (i32 1)))))", "1:27: add has no second operand"},
		{"(program p (body (iterate (add (i32 1) (i32 2) (i32 3)))))", "1:48: add has a part too many"},
		{"(program p (body (iterate (call root (f64 1)))))", "1:33: no function is called root"},
		{"(program p (body (iterate (load u i))))", "1:33: arrays belong to calls"},
		{"(program p (body (run s)))", "1:23: no call is called s"},
		{"(program p (axes i) (stage s (array u read)))", "1:30: the array u has neither a type nor a grid"},
		{"(program p (axes i) (stage s (local u (dim i 0 1))))", "1:30: the array u has neither a type nor a grid"},
		{"(program p\n (stage s (set u (f64 1))))", "2:16: no array is called u"},
	} {
		_, err := ParseText(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n  got %v\n want %s", c.text, err, c.want)
		}
	}
}

// Parts may stand in any order: an array takes its type and its dimensions from a
// grid that is declared after its call.
func TestParseTextInAnyOrder(t *testing.T) {
	const head, grid, call, body = "(program p (axes i)", " (grid u f64 (dim i 0 7 (low clamp)))",
		" (stage s (array a written (grid u)) (set a (over i) (domain (i (lo 0) (hi 7))) (f64 1)))", " (body (run s))"
	want := Text(readProgram(t, head+grid+call+body+")"))
	for _, text := range []string{head + call + grid + body + ")", head + body + call + grid + ")"} {
		if got := Text(readProgram(t, text)); got != want {
			t.Errorf("%s\nreads as\n%s\nnot as\n%s", text, got, want)
		}
	}
}

func FuzzParseText(f *testing.F) {
	_, text := allOfIt(f)
	f.Add(text)
	f.Add("(program p (axes i) (stage s (array u read)))")
	f.Add("(program p (axes i) (stage s (array u read (grid g))) (grid g f64 (dim i 0 7)))")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseText(text)
		if err != nil {
			return
		}
		printed := Text(p)
		q, err := ParseText(printed)
		if err != nil {
			t.Fatalf("%v in\n%s", err, printed)
		}
		if again := Text(q); again != printed {
			t.Fatalf("printed\n%s\nthen\n%s", printed, again)
		}
		_ = Verify(p)
	})
}
