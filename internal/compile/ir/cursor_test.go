package ir

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// trace lists the leaves of a body: the call's name, the step and the
// completed iterations. n is the value of the scalar n, which every leaf
// raises by one.
func trace(t *testing.T, body string) []string {
	t.Helper()
	p := cursorProgram(t, body)
	var out []string
	n := int64(0)
	eval := scalarN(p, &n)
	var c Cursor
	for {
		if err := c.Check(p.Body); err != nil {
			t.Fatal(err)
		}
		leaf, ok := c.Next(p.Body, eval)
		if !ok {
			break
		}
		name := "rotate"
		if r, ok := leaf.Op.(*Run); ok {
			name = r.Call.Name
		}
		out = append(out, fmt.Sprintf("%s/%d%v%d", name, leaf.Step, leaf.Iterations, c.Completed))
		n++
	}
	if _, ok := c.Next(p.Body, eval); ok {
		t.Error("there is a leaf after the last")
	}
	return append(out, fmt.Sprintf("end %d", c.Completed))
}

func cursorProgram(t *testing.T, body string) *Program {
	t.Helper()
	p := readProgram(t,
		"(program p (axes i) (scalar n i32 reduced used) (grid u f64 (dim i 0 0)) (grid v f64 (dim i 0 0)) (stage a) "+
			"(stage b) (body "+body+"))")
	if err := Verify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func scalarN(p *Program, n *int64) Uniforms {
	return func(e Expr, step int64) op.Value {
		b := &Binding{Program: p, Scalars: []op.Value{op.Int(types.I32, *n)}}
		return b.Eval(e, step)
	}
}

func TestCursor(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"", "end 0"},
		{"(run a) (rotate u v)", "a/0[]0 rotate/0[]0 end 0"},
		{"(iterate (i32 2) (run a) (run b)) (run a)", "a/0[0]0 b/0[0]0 a/1[1]1 b/1[1]1 a/0[]2 end 2"},
		{"(iterate (i32 0) (run a)) (iterate (i32 -3) (run a)) (run b)", "b/0[]0 end 0"},
		{"(iterate (i32 2000000000) (iterate (i32 5)))", "end 0"},
		{"(iterate (i32 2) (iterate (i32 2) (run a)) (run b))",
			"a/0[0 0]0 a/1[0 1]0 b/0[0]0 a/0[1 0]1 a/1[1 1]1 b/1[1]1 end 2"},
		{"(iterate (i32 3) (iterate (step) (run a)))", "a/0[1 0]1 a/0[2 0]2 a/1[2 1]2 end 3"},
		{"(run a) (iterate (scalar n) (run b))", "a/0[]0 b/0[0]0 end 1"},
		{"(until (ge (scalar n) (i32 3)) (check 1) (max 10) (run a))", "a/0[0]0 a/1[1]1 a/2[2]2 end 3"},
		{"(until (ge (scalar n) (i32 1)) (check 2) (max 10) (run a))", "a/0[0]0 a/1[1]1 end 2"},
		{"(until (ge (scalar n) (i32 1)) (check 4) (max 3) (run a))", "a/0[0]0 a/1[1]1 a/2[2]2 end 3"},
		{"(until (ge (step) (i32 2)) (check 1) (max 10) (run a))", "a/0[0]0 a/1[1]1 end 2"},
		{"(until (bool true) (check 1) (max 0) (run a))", "end 0"},
	} {
		if got := strings.Join(trace(t, c.body), " "); got != c.want {
			t.Errorf("%s:\n  got  %s\n  want %s", c.body, got, c.want)
		}
	}
}

// A copy of a cursor, also one that went through JSON, stays where it was.
func TestCursorIsAPlainValue(t *testing.T) {
	p := cursorProgram(t,
		"(run a) (iterate (i32 2) (run a) (until (ge (step) (i32 2)) (check 1) (max 5) (run b)) (run a)) (run b)")
	n := int64(0)
	eval := scalarN(p, &n)
	next := func(c *Cursor) string {
		leaf, ok := c.Next(p.Body, eval)
		return fmt.Sprint(ok, leaf.Step, leaf.Iterations, c.Completed)
	}
	var c Cursor
	for {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var stored Cursor
		if err := json.Unmarshal(text, &stored); err != nil {
			t.Fatal(err)
		}
		copied := c
		want := next(&c)
		if got := next(&copied); got != want {
			t.Fatalf("a copy goes on with %s, want %s", got, want)
		}
		if got := next(&stored); got != want {
			t.Fatalf("%s goes on with %s, want %s", text, got, want)
		}
		if strings.HasPrefix(want, "false") {
			break
		}
	}
}

func TestCursorCheck(t *testing.T) {
	p := cursorProgram(t, "(run a) (iterate (i32 2) (run a))")
	for _, c := range []struct{ text, want string }{
		{`{}`, ""},
		{`{"frames":[{"at":2}]}`, ""},
		{`{"frames":[{"at":1},{"at":1,"done":1,"limit":2}]}`, ""},
		{`{"frames":[{"at":3}]}`, "the cursor stands outside the program at depth 0"},
		{`{"frames":[{"at":-1}]}`, "the cursor stands outside the program at depth 0"},
		{`{"frames":[{"at":1},{"at":0,"done":2,"limit":2}]}`, "the cursor stands outside the program at depth 1"},
		{`{"frames":[{"at":0},{"at":0,"done":0,"limit":2}]}`,
			"the cursor is inside op 0 at depth 0, which is no iterate"},
		{`{"frames":[{"at":2},{"at":0,"done":0,"limit":2}]}`,
			"the cursor is inside op 2 at depth 0, which is no iterate"},
	} {
		var cur Cursor
		if err := json.Unmarshal([]byte(c.text), &cur); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := cur.Check(p.Body); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestLeaves(t *testing.T) {
	for _, c := range []struct {
		body  string
		n     int64
		exact bool
	}{
		{"", 0, true},
		{"(run a) (iterate (i32 10) (run a) (rotate u v)) (iterate (i32 -1) (run a))", 21, true},
		{"(iterate (i32 10) (until (bool false) (check 1) (max 7) (run a)))", 70, false},
		{"(iterate (i32 2000000000) (iterate (i32 2000000000) (iterate (i32 2000000000) (run a))))",
			math.MaxInt64, true},
	} {
		p := cursorProgram(t, c.body)
		zero := int64(0)
		if n, exact := Leaves(p.Body, scalarN(p, &zero)); n != c.n || exact != c.exact {
			t.Errorf("%s: %d, %t, want %d, %t", c.body, n, exact, c.n, c.exact)
		}
	}
}
