package replay

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEval(t *testing.T) {
	names := map[string]Value{"a": Whole(6), "b": Whole(4), "x": Decimal(2.5), "s": Text("on"),
		"l": {kind: list, list: []Value{Whole(1), Whole(7)}}}
	for text, want := range map[string]string{
		"1 + 2 * 3":   "7",
		"(1 + 2) * 3": "9",
		"2 ** 3 ** 2": "512",
		"-2 ** 2":     "-4",
		"2 ** -1":     "0.5",
		"[7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5//2]": "[3 -4 -2 2 3]",
		"6 / 3":                               "2",
		"[2**i for i in range(0, 6)]":         "[1 2 4 8 16 32]",
		"[1, 2, 4] + list(range(32, 97, 32))": "[1 2 4 32 64 96]",
		"[i * j for i in (1, 2) for j in [3, 4] if i < j - 1]": "[3 4 8]",
		"[i for i in range(10) if i % 2 if i > 3]":             "[5 7 9]",
		"[[i, i + 1] for i in range(2)]":                       "[[0 1] [1 2]]",
		"range(5, 0, -2)":                                      "[5 3 1]",
		"[1] * 3":                                              "[1 1 1]",
		"32 <= a * b <= 1024":                                  "False",
		"1 < 2 < 3 != 4":                                       "True",
		"a > 1 or 1 // 0":                                      "True",
		"a == 1 and 1 // 0":                                    "False",
		"not a == 6":                                           "False",
		"not (a % 32 == 0) and b":                              "4",
		"a in [2, 4, 6]":                                       "True",
		"a not in (2, 4, 6)":                                   "False",
		"(a,)":                                                 "[6]",
		"()":                                                   "[]",
		"s == 'on' or s == \"off\"":                            "True",
		"'a' < 'b'":                                            "True",
		"10 if x > 2 else 20":                                  "10",
		"max(l) + min(3, a, 5) + sum([1, 2]) + len(l)": "15",
		"max(x, 2)": "2.5",
		"abs(-3) + int(7.9) + round(2.5) + float(1)": "13",
		"pow(2, 5)":         "32",
		"l[0] + l[-1]":      "8",
		"sorted([3, 1, 2])": "[1 2 3]",
		"all([a, b]) and any([0, 1]) and bool(1)": "True",
		"1 << 4 | 6 & 3 ^ 8":                      "26",
		"~5 + 0x10 + 1e3":                         "1010",
		"True + True":                             "2",
		"1 == 1.0 == True":                        "True",
		"None":                                    "None",
		"s is not None":                           "True",
		"(a*b+(b-1))*4 < 12*1024":                 "True",
	} {
		e, err := ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, err := e.Eval(func(n string) (Value, bool) { v, ok := names[n]; return v, ok })
		if err != nil || v.String() != want {
			t.Errorf("%s: %s, want %s: %v", text, v, want, err)
		}
	}
}

func TestExprErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        `column 1 of "": a value is expected, not the end`,
		"1 +":                     `column 4 of "1 +": a value is expected, not the end`,
		"7, 8":                    `column 2 of "7, 8": an operator or the end is expected, not ,`,
		"(1":                      `column 3 of "(1": ")" is expected, not the end`,
		"a ? b":                   `column 3 of "a ? b": '?' means nothing here`,
		"open('x')":               `column 1 of "open('x')": no function is called open; there are abs, all, any, bool, float, int, len, list, max, min, pow, range, round, sorted, sum, tuple`,
		"'abc":                    `column 1 of "'abc": a text that does not end, or has a backslash in it`,
		"a.b":                     `column 2 of "a.b": '.' means nothing here`,
		"1 = 2":                   `column 3 of "1 = 2": '=' means nothing here`,
		"12ab":                    `column 1 of "12ab": 12ab is no number, or too great a one`,
		"99999999999999999999999": `column 1 of "99999999999999999999999": 99999999999999999999999 is no number, or too great a one`,
		"[i for 3 in l]":          `column 8 of "[i for 3 in l]": a name is expected, not 3`,
		"[i, j for i in l]":       `column 7 of "[i, j for i in l]": "]" is expected, not for`,
		"1 if 2":                  `column 7 of "1 if 2": "else" is expected, not the end`,
		"nobody + 1":              `column 1 of "nobody + 1": nothing is called nobody`,
		"3 // 0":                  `column 3 of "3 // 0": 3 // 0: division by zero`,
		"[1] + 2":                 `column 5 of "[1] + 2": [1] + 2: + needs numbers`,
		"[1][2]":                  `column 4 of "[1][2]": a list of 1 has no item 2`,
		"2 ** 999":                `column 3 of "2 ** 999": 2 ** 999: the result is out of range`,
		"1 < 'a'":                 `column 3 of "1 < 'a'": 1 and a have no order`,
		"1 in 2":                  `column 3 of "1 in 2": in needs a list, not 2`,
		"range(0, 10**9)":         `column 1 of "range(0, 10**9)": range: more than 32768 values`,
		"range(1, 2, 0)":          `column 1 of "range(1, 2, 0)": range: the step is zero`,
		"max([])":                 `column 1 of "max([])": max: there is nothing to choose from`,
		"[0 for i in range(9999) for j in range(9999)]": `column 2 of "[0 for i in range(9999) for j in range(9999)]": the expression takes more than 4194304 steps`,
	} {
		e, err := ParseExpr(text)
		if err == nil {
			_, err = e.Eval(nil)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	for _, deep := range []string{"(", "not ", "-", "1 if 1 else ", "2**"} {
		if _, err := ParseExpr(strings.Repeat(deep, 1e4)); err == nil ||
			!strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%s: %v", deep, err)
		}
	}
}

func TestNames(t *testing.T) {
	e, err := ParseExpr("a + max(b, a) * [c for c in d if c > e][0] - c")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(e.Names(), " "); got != "a b d e c" {
		t.Error(got)
	}
}

// TestExprNeverPanics gives the parser pieces of expressions in any order.
func TestExprNeverPanics(t *testing.T) {
	pieces := []string{"1", "2.5", "a", "'s'", "+", "-", "*", "/", "//", "%", "**", "(", ")", "[", "]", ",",
		" for i in ", " if ", " else ", " and ", " or ", " not ", " in ", " is ", "<", "<=", "==", "<<", ">>", "&", "|",
		"^", "~", "range(3)", "max(", "list(", "0", "999999999999"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), "")
		e, err := ParseExpr(text)
		if err == nil {
			_, err = e.Eval(func(string) (Value, bool) { return Whole(3), true })
		}
		if err != nil && !strings.HasPrefix(err.Error(), "column ") {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
