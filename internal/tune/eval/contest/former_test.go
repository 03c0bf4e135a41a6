package contest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// A recording in a former spelling goes on in that of today: what it has is known, its
// space is the same, and it is saved as one of today.
func TestFormerSpellings(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		folder := t.TempDir()
		config := "family=stream,vec=2," + x.Now
		b := &recordingFile{folder: folder, name: "r", index: map[string]int{}}
		b.about.Program, b.about.Space = "heat", "family=tile|stream; "+x.Now+"|7; "+x.Parameter+"!=7; two techniques"
		b.about.Seen = &fastestSeen{Plan: "heat[0:1]@1{" + config + "}"}
		space, plan := b.about.Space, b.about.Seen.Plan
		b.add(tuner.Outcome{Config: config, Verdict: verdict.OK, Seconds: 2, Low: 2, High: 2})
		if err := b.save(); err != nil {
			t.Fatal(err)
		}
		// As it was written before: in former spellings.
		about, err := os.ReadFile(b.aboutPath())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(x.Now, x.Former, x.Parameter+"!=", x.Name+"!=").Replace(string(about))
		r := b.recording()
		for i := range r.Params {
			if p := &r.Params[i]; p.Name == x.Parameter {
				p.Name, p.Values = x.Name, []replay.Value{written(x.FormerValue)}
			}
		}
		var trials bytes.Buffer
		if err := replay.Write(&trials, r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, x.Former) || !strings.Contains(trials.String(), `"`+x.Name+`":`) {
			t.Fatalf("%s\n%s", text, trials.String())
		}
		if err := os.WriteFile(b.aboutPath(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "r.t4.json.gz"), trials.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		again, err := openRecording(folder, "r")
		if err != nil {
			t.Fatal(err)
		}
		o, ok := again.Known("", config)
		if !ok || o.Seconds != 2 || again.about.Space != space || again.about.Seen.Plan != plan {
			t.Errorf("%s: %+v, %v, %+v", x.Former, o, ok, again.about)
		}
		if err := again.save(); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(b.aboutPath()); err != nil || strings.Contains(string(now), x.Former) {
			t.Errorf("%s is saved as %s, %v", x.Former, now, err)
		}
	}
}
