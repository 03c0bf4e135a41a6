package ir

import (
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	head := "(program p (axes j i) (param N) (scalar a f64 used) (scalar r f64 reduced)\n" +
		"(grid u f64 (dim j 0 N-1) (dim i 0 N-1)) (grid v f64 (dim j 0 N-1) (dim i 0 N-1 (low clamp))) (grid x f32 " +
		"(dim i 0 N-1)) "
	whole := "(over j i) (domain (j (lo 0) (hi N-1)) (i (lo 0) (hi N-1)))"
	inCall := func(parts string) string {
		return head + "(stage s (array u read written (grid u)) " + parts + ") (body))"
	}
	for _, c := range []struct{ text, want string }{
		{inCall("(set u " + whole + " (load u j i))"), ""},
		{"(program p (param N) (scalar N f64) (body))", `program: two parameters, scalars or grids are called "N"`},
		{"(program p (axes i i) (body))", `program: two axes are called "i"`},
		{"(program p (arguments b) (body))", "program: the argument b is not declared"},
		{"(program p (param N (f64 1)) (body))", "parameter N: (f64 1) is of type f64, not i32"},
		{"(program p (scalar a f64 (init (cast f64 (step)))) (body))", "scalar a: (step) is not known here"},
		{"(program p (scalar a i64) (body))", "scalar a: a scalar cannot be of type i64"},
		{"(program p (grid u i64 (dim _ 0 1)) (body))", "grid u: an array cannot be of type i64"},
		{"(program p (grid u f64) (body))", "grid u: an array has at least one dimension"},
		{"(program p (axes j i) (grid u f64 (dim i 0 1 (low clamp)) (dim j 0 1)) (body))",
			"grid u: an array with a boundary needs an axis for every dimension, in ascending order"},
		{"(program p (axes i) (grid u f64 (dim i 0 1 (low constant (i32 1)))) (body))",
			"grid u: (i32 1) is of type i32, not f64"},
		{"(program p (axes i) (grid u bool (dim i 0 1 (low antimirror))) (body))",
			"grid u: a bool has no sign to turn"},
		{head + "(stage s) (stage s) (body))", `program: two calls are called "s"`},
		{head + "(stage s (array u (grid u)) (array w (grid u))) (body))",
			"call s, array w: two arrays are the grid u"},
		{head + "(stage s (array u (grid u) (dim j 0 N-1) (dim i 1 N-1))) (body))",
			"call s, array u: its type or dimensions are not those of u"},
		{head + "(stage s (local t f64 (dim i 0 N-1) (box (i (lo 0))))) (body))",
			"call s, array t: its box on i is not bounded within its extents"},
		{head + "(stage s (local t f64 (dim i 1 N-1) (box (i (lo 0) (hi N-1))))) (body))",
			"call s, array t: its box on i is not bounded within its extents"},
		{inCall("(array x (grid x)) (set u " + whole + " (load x i))"),
			"call s, statement 1 (u): (load x i) is of type f32, not f64"},
		{inCall("(set u " + whole + " (add (f64 1) (i32 1)))"),
			"call s, statement 1 (u): (add (f64 1) (i32 1)) has operands that do not fit"},
		{inCall("(set u " + whole + " (cast f64 (rem (f64 1) (f64 2))))"),
			"call s, statement 1 (u): (rem (f64 1) (f64 2)) has operands that do not fit"},
		{inCall("(set u " + whole + " (select (i32 1) (f64 1) (f64 2)))"),
			"call s, statement 1 (u): (select (i32 1) (f64 1) (f64 2)) has operands that do not fit"},
		{inCall("(set u " + whole + " (cast f64 (call sqrt (i32 1))))"),
			"call s, statement 1 (u): (call sqrt (i32 1)) has operands that do not fit"},
		{inCall("(set u " + whole + " (powi 17 (f64 1)))"),
			"call s, statement 1 (u): (powi 17 (f64 1)) has operands that do not fit"},
		{inCall("(set u " + whole + " (cast f64 (add (bool true) (bool true))))"),
			"call s, statement 1 (u): (add (bool true) (bool true)) has operands that do not fit"},
		{inCall("(set u " + whole + " (load u j))"),
			"call s, statement 1 (u): u has 2 dimensions and is read with 1 indices"},
		{inCall("(set u " + whole + " (load u j i+1))"),
			"call s, statement 1 (u): (load u j i+1) is not defined on the whole domain on i"},
		{inCall("(array v (grid v)) (set u " + whole + " (load v j i-3))"),
			"call s: v is marked read: false, written: false, but is read: true, written: false"},
		{inCall("(array v read (grid v)) (set u " + whole + " (load v j i+1))"),
			"call s, statement 1 (u): (load v j i+1) is not defined on the whole domain on i"},
		{inCall("(set u (over j i) (domain (j (lo 0) (hi N-1)) (i (lo 0) (hi N))) (f64 0))"),
			"call s, statement 1 (u): its domain leaves its target on i"},
		{inCall("(set u (over j i) (domain (j (lo 0) (hi N-1)) (i (lo 0))) (f64 0))"),
			"call s, statement 1 (u): its domain on i is not bounded as its axes [0 1] say"},
		{inCall("(set u (over i) (domain (i (lo 0) (hi N-1))) (f64 0))"),
			"call s, statement 1 (u): it does not run over its target's axes in ascending order"},
		{inCall("(set u (over i j) (domain (j (lo 0) (hi N-1)) (i (lo 0) (hi N-1))) (f64 0))"),
			"call s, statement 1 (u): its axes [1 0] are not ascending"},
		{inCall("(array x written (grid x)) (set x (over i) (domain (i (lo 0) (hi N-1))) (cast f32 (pos j)))"),
			"call s, statement 1 (x): its value varies on j, over which it does not run"},
		{inCall("(set u " + whole + " (color 2 2 1 1) (f64 0))"),
			"call s, statement 1 (u): its colour {[1 1] 2 2} is malformed"},
		{inCall("(set u " + whole + " (random f64 (i32 0)))"),
			"call s, statement 1 (u): random values belong to the grids of the initial block"},
		{inCall("(reduce sum a (domain) (f64 1))"),
			"call s, statement 1 (a): it reduces into what is not marked as a reduction's scalar"},
		{inCall("(temp t f64 (box)) (set u " + whole + " (temp t)) (let t (f64 1))"),
			"call s, statement 1 (u): the temp t is used before it is assigned"},
		{inCall("(temp t f64 (box)) (let t (f64 1)) (let t (f64 2))"),
			"call s, statement 2 (t): the temp is assigned twice"},
		{inCall("(temp t f64 (box))"), "call s: the temp t is never assigned"},
		{inCall("(temp t f64 (box (i (lo 1)))) (let t (f64 1)) (set u " + whole + " (temp t))"),
			"call s, statement 2 (u): the temp t is not defined on the whole domain on i"},
		{inCall("(temp t f64 (box (i (lo 0)))) (let t (load u 0 i))"),
			"call s, statement 1 (t): (load u 0 i) is not defined on the whole domain on i"},
		{inCall("(local t f64 (dim i 0 N-1) (box (i (lo 0) (hi N-1)))) (set u " + whole + " (load t i))"),
			"call s, statement 1 (u): t is read before it is assigned"},
		{inCall("(local t f64 (dim i 0 N-1) (box (i (lo 0) (hi N-1)))) (set t (over i) (domain (i (lo 0) (hi 0))) " +
			"(f64 0)) (set u " + whole + " (load t i))"),
			"call s, statement 2 (u): (load t i) is read where it is not assigned yet"},
		{inCall("(temp t f64 (box)) (let t (scalar r)) (reduce max r " + whole + " (load u j i)) (set u " + whole +
			" (temp t))"),
			"call s, statement 3 (u): the temp t is used after what it is computed from has changed"},
		{inCall("(temp t f64 (box (j (lo 0) (hi N-1)) (i (lo 0) (hi N-1)))) (let t (load u j i)) (set u " + whole +
			" (temp t)) (set u " + whole + " (temp t))"),
			"call s, statement 3 (u): the temp t is used after what it is computed from has changed"},
		{inCall("(temp t f64 (box (j (lo 0) (hi N-1)) (i (lo 1)))) (let t (load u j i-1)) (set u (over j i) (domain " +
			"(j (lo 0) (hi N-1)) (i (lo 1) (hi N-1)))" + " (temp t))"),
			"call s, statement 2 (u): the temp t is used after what it is computed from has changed"},
		{head + "(body (rotate u)))", "body: a rotation needs two grids"},
		{head + "(body (rotate u u)))", "body: u is rotated with itself"},
		{head + "(body (rotate u v)))", "body: u and v differ in type, shape or boundary"},
		{head + "(body (iterate (f64 1))))", "body: (f64 1) is of type f64, not i32"},
		{head + "(body (until (bool true) (check 0))))",
			"body: an iterate is checked every 0 of at most 2147483647 iterations"},
	} {
		err := Verify(readProgram(t, c.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains("\n"+got+"\n", "\n"+c.want+"\n") {
			t.Errorf("%s:\n  got  %s\n  want %s", c.text, got, c.want)
		}
	}
}

func TestVerifyReportsEverything(t *testing.T) {
	p := readProgram(t, "(program p (axes i i) (scalar a i64) (arguments b) (body (iterate (f64 1))))")
	err := Verify(p)
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v, want four errors", err)
	}
}
