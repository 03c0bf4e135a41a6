package lower_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
)

// formerProgram has halos on all axes, and parameters of every kind.
const formerProgram = `
parameter L = 20, M = 24, N = 40;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
PRAGMA
stencil heat (out, in) {
  HINT
  out[k][j][i] = in[k][j][i] + 0.1*(in[k][j][i+1] + in[k][j][i-1] + in[k+1][j][i] + in[k-1][j][i]
    + in[k][j-1][i] + in[k][j+1][i]);
}
heat (v, u);
copyout v;
`

func formerChoice(t *testing.T, pragma, hint string) lower.Choice {
	t.Helper()
	p := load(t, "heat", strings.NewReplacer("PRAGMA", pragma, "HINT", hint).Replace(formerProgram))
	list, err := lower.Choices(p, lower.Options{Target: lower.GPU})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

// Families declare what former spellings have become, and nothing in a former spelling.
func TestFormerSpellingsAreNotDeclared(t *testing.T) {
	space := formerChoice(t, "", "").Space
	for _, s := range scheduletest.Spellings() {
		found := false
		for _, f := range space.Families {
			for _, p := range f.Params {
				found = found || p.Name == s.Parameter &&
					slices.ContainsFunc(p.Values, func(v schedule.Value) bool { return v.String() == s.NowValue })
				for _, v := range p.Values {
					if p.Name+"="+v.String() == s.Former || p.Name == s.Name && s.Name != s.Parameter {
						t.Errorf("%s has %s=%v, which is a former spelling of %s", f.Name, p.Name, v, s.Now)
					}
				}
			}
		}
		if !found {
			t.Errorf("no family has %s, which %s is taken for", s.Now, s.Former)
		}
	}
}

// Every configuration of a space is the same in its former spelling.
func TestFormerSpellingsOfSpaces(t *testing.T) {
	space := formerChoice(t, "", "").Space
	changed := 0
	for _, c := range space.Sample(rand.New(rand.NewPCG(1, 2)), 500) {
		former := scheduletest.Formerly(c.String())
		got, err := schedule.ParseConfig(former)
		if err != nil || !got.Equal(c) || space.Check(got) != nil {
			t.Fatalf("%s is %s, %v; want %s", former, got, err, c)
		}
		if former != c.String() {
			changed++
		}
	}
	if changed < 300 {
		t.Errorf("%d configurations had another spelling", changed)
	}
}

// A program whose source gives hints takes a plan in every former spelling for the one in
// the spelling of today, and makes the same kernels of it.
func TestFormerSpellingsWithHints(t *testing.T) {
	// What else a setting needs to be there.
	needs := map[string]string{
		"staging=halos": "stages=1", "staging=all": "stages=1", "copy=async": "stages=1", "copy=tensor": "stages=1",
		"perspective=outer": "stages=1",
	}
	ofTiles := []string{"staging", "shuffle", "perspective"}
	for _, s := range scheduletest.Spellings() {
		hint, rest, pragma, family := "", "", "#pragma stream k block (32,8)", "planes"
		if slices.Contains(ofTiles, s.Parameter) {
			pragma, family = "#pragma block (32,8) unroll j=2", "tile"
		}
		if text := needs[s.Now]; text != "" {
			hint, rest = "shmem in;", ","+text
		} else if s.Parameter == "stages" {
			hint = "shmem in;"
		}
		p := load(t, "heat",
			strings.NewReplacer("PRAGMA", pragma, "HINT", hint).Replace(formerProgram))
		var texts []string
		for _, text := range []string{s.Now + rest, s.Former + scheduletest.Formerly(rest)} {
			o := lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: bind(t, p, ""), Sized: true}
			m, err := lowered(p, o)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			full, err := lower.Plan(p, o)
			if err != nil {
				t.Fatal(err)
			}
			config := full.Kernels[0].Config
			if config.Family != family || !strings.Contains(config.String(), s.Now) {
				t.Errorf("%s is %s", text, config)
			}
			for _, k := range m.Kernels {
				texts = append(texts, kernel.Text(k))
			}
		}
		if half := len(texts) / 2; half == 0 || !slices.Equal(texts[:half], texts[half:]) {
			t.Errorf("%s makes other kernels than %s", s.Former, s.Now)
		}
	}
}
