package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// said is what a scripted judge answers.
type said struct {
	reason string
	err    error
}

var (
	right    = said{}
	differs  = said{reason: "u: 1 of 9 cells differ"}
	dead     = said{err: fmt.Errorf("the run: %w", &worker.Death{Signal: syscall.SIGABRT})}
	killed   = said{err: &worker.Death{Signal: syscall.SIGKILL, Reason: errors.New("out of time")}}
	refused  = said{err: errors.New("it does not compile")}
	tooSlow  = said{err: &worker.Death{Signal: syscall.SIGKILL, Reason: errors.New(tookLonger + " 20s")}}
	unheard  = said{reason: "-"} // who should not have been asked
	anything = []said{right, differs, dead, killed, refused, tooSlow}
)

// scripted are judges that answer so, PoCL by its first method and right by the
// second.
func scripted(t *testing.T, check, pocl, whole said) *judgeSet {
	asked := func(s said, who string) said {
		if s == unheard {
			t.Errorf("%s was asked", who)
		}
		return s
	}
	return &judgeSet{
		check: func(context.Context, *judgedRun) error { return asked(check, "the check").err },
		pocl: func(_ context.Context, method string, _ *judgedRun) (bool, string, error) {
			if method != methods[0] {
				return true, "", nil
			}
			return true, asked(pocl, "PoCL").reason, pocl.err
		},
		oclgrind: func(context.Context, *judgedRun) (bool, string, error) {
			return true, asked(whole, "Oclgrind").reason, whole.err
		},
	}
}

func heard() *judgedRun {
	return &judgedRun{pair: &pair{seed: 7, source: "text"}, sizes: sizes{set: map[string]string{"N": "5"}},
		module: &kernel.Module{}}
}

func TestJudge(t *testing.T) {
	gaveUp := dead.err.Error()
	for _, c := range []struct {
		name               string
		small              bool
		check, pocl, whole said
		failure            string
		poclFault, crash   string // kinds
		runs, checks       int
	}{
		{"all are content", true, right, right, unheard, "", "", "", 2, 1},
		{"at large sizes Oclgrind is not asked", false, unheard, right, unheard, "", "", "", 2, 0},
		{"PoCL differs, and Oclgrind does not", false, right, differs, right, "", kindDiffers, "", 1, 0},
		{"PoCL crashes, and Oclgrind does not", true, right, dead, right, "", kindCrash, "", 1, 1},
		{"both differ", true, right, differs, differs, "PoCL, loopvec: u: 1 of 9 cells differ", "", "", 0, 1},
		{"PoCL crashes, and Oclgrind differs", false, right, dead, differs, "PoCL, loopvec: " + gaveUp, "", "", 0, 0},
		{"PoCL differs, and the whole program crashes under Oclgrind", false, right, differs, dead,
			"PoCL, loopvec: u: 1 of 9 cells differ", "", "", 0, 0},
		{"PoCL differs, and Oclgrind takes too long", false, right, differs, tooSlow,
			"PoCL, loopvec: u: 1 of 9 cells differ", "", "", 0, 0},
		{"PoCL differs, and a kernel is at fault", false, refused, differs, unheard,
			"PoCL, loopvec: u: 1 of 9 cells differ", "", "", 0, 0},
		{"PoCL differs, and the check takes too long", false, killed, differs, unheard,
			"PoCL, loopvec: u: 1 of 9 cells differ", "", "", 0, 0},
		{"PoCL cannot compile it", false, unheard, refused, unheard, "PoCL, loopvec: it does not compile", "",
			"", 0, 0},
		{"PoCL is killed for another reason", false, unheard, killed, unheard, "PoCL, loopvec: out of time", "",
			"", 0, 0},
		{"PoCL takes too long", false, unheard, tooSlow, unheard, "", "", "", 1, 0},
		{"Oclgrind finds something", true, refused, unheard, unheard, "Oclgrind: it does not compile", "", "", 0, 0},
		{"Oclgrind takes too long", true, killed, unheard, unheard, "Oclgrind: out of time", "", "", 0, 0},
		{"Oclgrind crashes, and PoCL does not", true, dead, right, unheard, "", "", kindCrash, 2, 0},
		{"Oclgrind crashes, and PoCL differs", true, dead, differs, unheard, "PoCL, loopvec: u: 1 of 9 cells differ",
			"", "", 0, 0},
		{"both crash", true, dead, dead, unheard, "PoCL, loopvec: " + gaveUp, "", "", 0, 0},
	} {
		v := &pairResult{}
		got := scripted(t, c.check, c.pocl, c.whole).judge(context.Background(), heard(), c.small, v).said
		if got != c.failure || v.pocl != c.runs || v.oclgrind != c.checks {
			t.Errorf("%s: %q, %d runs on PoCL, %d checks", c.name, got, v.pocl, v.oclgrind)
		}
		if kinds(v.poclFaults) != c.poclFault || kinds(v.oclgrindCrashes) != c.crash {
			t.Errorf("%s: PoCL %v, Oclgrind %v", c.name, v.poclFaults, v.oclgrindCrashes)
		}
	}
}

func kinds(list []JudgeFault) string {
	var all []string
	for _, f := range list {
		all = append(all, f.Kind)
	}
	return strings.Join(all, " ")
}

// A checker that is not installed clears no program.
func TestJudgeWithoutCheckers(t *testing.T) {
	for _, s := range anything {
		w := scripted(t, right, s, right)
		w.check, w.oclgrind = nil, nil
		v := &pairResult{}
		if got := w.judge(context.Background(), heard(), true, v).said; (got == "") != (s == right || s == tooSlow) ||
			v.poclFaults != nil {
			t.Errorf("PoCL alone: %v: %q, %v", s, got, v.poclFaults)
		}
		w = scripted(t, s, unheard, unheard)
		w.pocl = nil
		v = &pairResult{}
		if got := w.judge(context.Background(), heard(), true, v).said; (got == "") != (s.err == nil) ||
			v.oclgrindCrashes != nil {
			t.Errorf("Oclgrind alone: %v: %q, %v", s, got, v.oclgrindCrashes)
		}
	}
}

// A mistake of a judge is told with all that is needed to see it again.
func TestJudgeFault(t *testing.T) {
	v := &pairResult{}
	scripted(t, right, differs, right).judge(context.Background(), heard(), false, v)
	want := []JudgeFault{{Seed: 7, Kind: "differs", Mode: "strict", Set: map[string]string{"N": "5"},
		Said: "PoCL, loopvec: u: 1 of 9 cells differ", Source: "text"}}
	if !reflect.DeepEqual(v.poclFaults, want) {
		t.Errorf("%+v", v.poclFaults)
	}
}

// A program is listed once, however many sizes, methods and proofs a judge's mistake
// was seen with, and whatever was seen is kept.
func TestFaultsAreListedOnce(t *testing.T) {
	small, large := map[string]string{"N": "5"}, map[string]string{"N": "50"}
	var r GPUResult
	text := `{"pocl_faults": [{"seed": 7, "kind": "differs", "set": {"N": "5"}, "said": "a"}, {"seed": 7, "kind": "crash", "set": {"N": "50"}, "said": "b"}]}`
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	first := JudgeFault{Seed: 7, Kind: "differs", Set: small, Said: "a", Also: []Sighting{{"crash", large, "b"}}}
	if want := []JudgeFault{first}; !reflect.DeepEqual(r.PoCLFaults, want) {
		t.Errorf("read: %+v", r.PoCLFaults)
	}
	again := JudgeFault{Seed: 7, Kind: "differs", Set: small, Said: "a"}
	other, later := again, JudgeFault{Seed: 7, Kind: "crash", Set: small, Said: "c"}
	other.Seed = 8
	(&pairResult{poclFaults: []JudgeFault{again, other}}).addTo(&r)
	(&pairResult{poclFaults: []JudgeFault{later}}).addTo(&r)
	first.Also = append(first.Also, Sighting{"crash", small, "c"})
	if want := []JudgeFault{first, other}; !reflect.DeepEqual(r.PoCLFaults, want) {
		t.Errorf("added: %+v", r.PoCLFaults)
	}
	v := &pairResult{}
	for range 2 { // at two sizes
		scripted(t, right, differs, right).judge(context.Background(), heard(), false, v)
	}
	if kinds(v.poclFaults) != "differs" {
		t.Errorf("judged: %+v", v.poclFaults)
	}
}

// Failures that judges had found are judged again, and others stay.
func TestAgain(t *testing.T) {
	const source = "iterator i;\nparameter N;\ndouble u[N], v[N];\nstencil s (v, u) { v[i] = u[i]; }\ns (v, " +
		"u);\ncopyin u;\ncopyout v;\n"
	failure := func(seed uint64, reason string) Failure {
		return Failure{Seed: seed, Mode: "strict", Plan: "family=cells,block=64", Set: map[string]string{"N": "5"},
			Reason: reason, Source: source}
	}
	text, err := json.Marshal(map[string]any{
		"pairs": 9, "first_seed": 1, "next_seed": 10,
		"failures": []Failure{
			failure(2, "sized true: race"), failure(4, "PoCL, loopvec: u: 7 of 9 cells differ"),
			failure(6, "Oclgrind: oclgrind failed: it gave up (SIGABRT)"),
			{Seed: 8, Reason: "PoCL"},
		},
		"pocl_crashes": []map[string]any{{"seed": 3, "said": "it crashed"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var r GPUResult
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Pairs != 9 || r.NextSeed != 10 ||
		!reflect.DeepEqual(r.PoCLFaults, []JudgeFault{{Seed: 3, Kind: "crash", Said: "it crashed"}}) {
		t.Fatalf("%+v", r)
	}
	j := &crossCheckers{judgeSet: *scripted(t, dead, right, unheard)}
	n, err := r.again(context.Background(), j)
	if err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	if len(r.Failures) != 2 || r.Failures[0].Seed != 2 || r.Failures[1].Seed != 8 || r.Pairs != 9 || r.PoCL != 4 {
		t.Errorf("%+v", r)
	}
	if kinds(r.OclgrindCrashes) != "crash" || r.OclgrindCrashes[0].Seed != 6 || kinds(r.PoCLFaults) != "crash" {
		t.Errorf("PoCL %v, Oclgrind %v", r.PoCLFaults, r.OclgrindCrashes)
	}
	// What is still wrong is said as it was found now.
	former := failure(4, "PoCL, loops: it crashed")
	former.By = byPoCL
	r = GPUResult{Failures: []Failure{former}}
	if n, err := r.again(context.Background(),
		&crossCheckers{judgeSet: *scripted(t, right, differs, differs)}); err != nil || n != 1 ||
		len(r.Failures) != 1 || r.Failures[0].Reason != "PoCL, loopvec: u: 1 of 9 cells differ" {
		t.Errorf("%d, %v: %+v", n, err, r.Failures)
	}
	// Without a checker a failure stays a failure.
	if _, err := r.again(context.Background(), &crossCheckers{}); err != nil || len(r.Failures) != 1 {
		t.Errorf("%v: %+v", err, r.Failures)
	}
}
