package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
)

// No former spelling means something else today, so that texts of both spellings may be
// mixed, and canonical text stays as it is.
func TestFormers(t *testing.T) {
	list := schedule.Formers()
	for i, f := range list {
		if f.Name == "" || f.Now == "" || f.Since == "" || f.Name == f.Now && len(f.Values) == 0 {
			t.Errorf("%+v says nothing", f)
		}
		for j, g := range list {
			if i != j && (f.Name == g.Name || f.Name == g.Now) {
				t.Errorf("%s is former twice, or of today, too", f.Name)
			}
		}
		for _, v := range f.Values {
			if slices.ContainsFunc(f.Values, func(w schedule.FormerValue) bool {
				return f.Name == f.Now && w.Now == v.Value
			}) {
				t.Errorf("%s=%s is former and of today", f.Name, v.Value)
			}
		}
		if names := schedule.FormerNames(f.Now); (f.Name != f.Now) != slices.Contains(names, f.Name) {
			t.Errorf("%s was called %v", f.Now, names)
		}
	}
}

// Every former spelling is read wherever a setting is.
func TestFormerTexts(t *testing.T) {
	for _, s := range scheduletest.Spellings() {
		if name, value := schedule.Respell(s.Name, s.FormerValue); name+"="+value != s.Now {
			t.Errorf("%s is %s=%s", s.Former, name, value)
		}
		if word := schedule.RespellValue(s.Parameter, s.FormerValue); word != s.NowValue {
			t.Errorf("%s=%s is %s", s.Parameter, s.FormerValue, word)
		}
		for _, form := range []string{
			"S", "family=tile,S", "family=tile, S ,vec=2", "S;a[0:1]@1{family=tile}", "a[0:1]@1{family=stream,S}",
			"a[0:1]@1{family=stream,vec=2,S,rows=1};b[0:2]@1{S}",
		} {
			former, now := strings.ReplaceAll(form, "S", s.Former), strings.ReplaceAll(form, "S", s.Now)
			x, err1 := schedule.ParsePlan(former)
			y, err2 := schedule.ParsePlan(now)
			if err1 != nil || err2 != nil || x.String() != y.String() || strings.Contains(x.String(), s.Former) {
				t.Errorf("%q is %q, want %q (%v, %v)", former, x, y, err1, err2)
			}
			if strings.Contains(form, "family=") {
				if got := schedule.RespellText(former); got != now {
					t.Errorf("%q is respelled as %q, want %q", former, got, now)
				}
			} else if got := schedule.RespellText(former); got != former {
				t.Errorf("%q may be of another program, and is respelled as %q", former, got)
			}
		}
	}
	for _, text := range []string{
		"", "block_size_x=8,x=2", "family=tile,,x", "family=tile,max=load", "heat[0:1]@1{family=tile",
	} {
		if got := schedule.RespellText(text); got != text {
			t.Errorf("%q is respelled as %q", text, got)
		}
	}
}

// Every former spelling restricts spaces as that of today does, and is kept in that of
// today.
func TestFormerRestrictions(t *testing.T) {
	for _, s := range scheduletest.Spellings() {
		value, err := schedule.ParseValue(s.NowValue)
		if err != nil {
			t.Fatal(err)
		}
		other := schedule.Int(7)
		space := schedule.Space{Families: []schedule.Family{{Name: "tile", Params: []schedule.Param{
			{Name: s.Parameter, Values: []schedule.Value{other, value}, Default: other},
			{Name: "vec", Values: schedule.Numbers(1, 2), Default: schedule.Int(1)},
		}}}}
		fix, err := schedule.FixTo("--fix", s.Former)
		if err != nil {
			t.Fatal(err)
		}
		file, err := schedule.ParseRestrictions("f", "fix "+s.Former+"\nlimit "+s.Former+"|9\nlimit "+s.Name+" != 7\n")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := schedule.ParsePlan(s.Former)
		if err != nil {
			t.Fatal(err)
		}
		list := append(schedule.Restrictions(file), schedule.LimitTo("--limit", s.Former), fix)
		for _, r := range append(list, plan.Restrictions("--plan")...) {
			left, err := r.Apply(space)
			if err != nil || left.Count().Int64() != 2 || !left.Families[0].Params[0].Default.Equal(value) {
				t.Errorf("%s %s: %v, %v", r.Kind, r.Text, left, err)
			}
			if !strings.HasPrefix(r.Text, s.Parameter) || strings.Contains(r.Text, s.Former) {
				t.Errorf("%s is kept as %s", s.Former, r.Text)
			}
		}
	}
	if r := schedule.LimitTo("", "vec <= 4"); r.Text != "vec <= 4" {
		t.Errorf("a limit of no former spelling becomes %q", r.Text)
	}
}

// A configuration that is written in former spellings is the same as in those of today,
// whatever its values; a canonical text is its own.
func TestFormerConfigurations(t *testing.T) {
	spellings := scheduletest.Spellings()
	setting := rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "respelled") {
			return rapid.SampledFrom(spellings).Draw(t, "spelling").Now
		}
		return rapid.SampledFrom([]string{
			"vec=2", "block=4x64", "load=plain", "load_x=image", "shared_u=no", "rows=1x2", "sizes=other",
			"shuffle=3", "unroll=4", "store=streaming",
		}).Draw(t, "setting")
	})
	rapid.Check(t, func(t *rapid.T) {
		config := schedule.Config{Family: rapid.SampledFrom([]string{"tile", "stream", "cells"}).Draw(t, "family")}
		for _, text := range rapid.SliceOfN(setting, 0, 8).Draw(t, "settings") {
			name, value, _ := strings.Cut(text, "=")
			v, err := schedule.ParseValue(value)
			if err != nil {
				t.Fatal(err)
			}
			config = config.With(name, v)
		}
		text := config.String()
		former := scheduletest.Formerly(text)
		for _, given := range []string{text, former} {
			c, err := schedule.ParseConfig(given)
			if err != nil || !c.Equal(config) || c.String() != text {
				t.Fatalf("%q is %q, %v; want %q", given, c, err, text)
			}
			if got := schedule.RespellText(given); got != text {
				t.Fatalf("%q is respelled as %q, want %q", given, got, text)
			}
			plan := "local=fused;heat[0:1]@1{" + given + "};norm[0:2]@1{" + given + "}"
			p, err := schedule.ParsePlan(plan)
			if want := strings.ReplaceAll(plan, given, text); err != nil || p.String() != want ||
				schedule.RespellText(plan) != want {
				t.Fatalf("%q is %q, %v", plan, p, err)
			}
		}
		again := slices.ContainsFunc(config.Values, func(s schedule.Setting) bool {
			return len(schedule.FormerNames(s.Name)) > 0 ||
				slices.ContainsFunc(spellings, func(x scheduletest.Spelling) bool { return x.Now == s.String() })
		})
		if again == (former == text) {
			t.Fatalf("%q was %q", text, former)
		}
	})
}

// The depth of a kernel that repeats rounds was once that of all of them.
func TestFormerRounds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"body[0:2]@80{family=resident,block=4x32,exchange=8,wait=grid}",
			"body[0:2]@8{family=resident,block=4x32,wait=grid}"},
		{"body[0:2]@8{family=resident,exchange=8};body[0:2]@3{family=pipe}",
			"body[0:2]@8{family=resident};body[0:2]@3{family=pipe}"},
		{"body[0:2]@81{family=resident,exchange=8}", "body[0:2]@81: exchange=8 is no more: " +
			"write the iterations between two exchanges as the depth, as in body[0:2]@8"},
		{"body[0:2]@80{family=resident,exchange=1}", "body[0:2]@80: exchange=1 is no more: " +
			"the depth is the number of iterations between two exchanges, 2 at least"},
	} {
		got := ""
		if p, err := schedule.ParsePlan(c.text); err != nil {
			got = err.Error()
		} else {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant %s", c.text, got, c.want)
		}
	}
}
