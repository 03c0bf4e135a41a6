package schedule

import (
	"strings"
	"testing"
)

func TestParseRestrictions(t *testing.T) {
	list, err := ParseRestrictions("a.space", "# a comment\n\nfix vec=2|4\nlimit block<=64 # another\n")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if a, b := list[0], list[1]; a.Where != "a.space:3: fix" || a.Text != "vec=2|4" || b.Where != "a.space:4: limit" ||
		b.Text != "block<=64" {
		t.Errorf("%+v", list)
	}
	vec := Space{Families: []Family{{Name: "f", Params: []Param{
		{Name: "vec", Values: []Value{Int(1), Int(2), Int(4)}, Default: Int(1)},
		{Name: "block", Values: []Value{Int(32), Int(64), Int(128)}, Default: Int(32)},
	}}}}
	for _, r := range list {
		if vec, err = r.Apply(vec); err != nil {
			t.Fatal(err)
		}
	}
	if n := vec.Count().Int64(); n != 4 {
		t.Errorf("%d configurations are left", n)
	}
	for text, want := range map[string]string{
		"\nkeep vec=2":   "a.space:2: a line begins with fix or limit, not with keep",
		"fix vec":        "a.space:1: fix vec: write NAME=VALUE, or NAME=VALUE|VALUE",
		"fix vec=2||4":   "a.space:1: fix vec=2||4: write NAME=VALUE, or NAME=VALUE|VALUE",
		"fix vec=2\nfix": "a.space:2: fix : write NAME=VALUE, or NAME=VALUE|VALUE",
	} {
		if _, err := ParseRestrictions("a.space", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
