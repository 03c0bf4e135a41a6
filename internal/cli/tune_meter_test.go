package cli

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Wrong results are told of, a few of them, unless the code had spilled registers.
func TestTuneMeterWrong(t *testing.T) {
	var out strings.Builder
	m := &tuneMeter{to: &out}
	trial := func(config string, v verdict.Verdict, spills int) {
		m.wrong(&tuner.Outcome{
			Config: config, Verdict: v, Message: "u[3] is 1", Resources: measure.Resources{Spills: spills},
		})
	}
	trial("vec=1", verdict.OK, 0)
	trial("vec=2", verdict.Wrong, 8)
	if out.Len() > 0 {
		t.Errorf("there is nothing to tell: %s", &out)
	}
	for range mostWrong + 1 {
		trial("vec=4", verdict.Wrong, 0)
	}
	one := "WRONG: vec=4 computes wrong numbers: u[3] is 1\n"
	if want := strings.Repeat(one, mostWrong) + "WRONG: others are counted from here on\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}
