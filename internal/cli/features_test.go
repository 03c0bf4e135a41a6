package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// Of a kernel for a GPU the command prints every feature that both levels of a model learn from, as JSON and as text.
// What is not known of one would be no number to learn from.
func TestFeaturesOfSecondLevel(t *testing.T) {
	var out [2]bytes.Buffer
	for i, more := range [][]string{{"--json"}, nil} {
		args := append([]string{"features", "../../examples/heat3d.loom", "--plan", "family=tile,vec=2"}, more...)
		var errs bytes.Buffer
		if status := Run(args, strings.NewReader(""), &out[i], &errs); status != 0 {
			t.Fatalf("status %d: %s", status, errs.String())
		}
	}
	var groups []featureGroup
	if err := json.Unmarshal(out[0].Bytes(), &groups); err != nil {
		t.Fatal(err)
	}
	printed := map[string]featureValue{}
	for _, g := range groups {
		for _, f := range g.Features {
			printed[f.Name] = f
		}
	}
	for _, name := range predict.SecondFeatures() {
		f, ok := printed[name]
		if !ok || f.Value == nil || f.Doc == "" || f.Example == "" || f.Source == "" {
			t.Errorf("%s is printed as %+v", name, f)
		}
		if !strings.Contains(out[1].String(), "\n  "+name+" ") {
			t.Errorf("%s is not in the text", name)
		}
	}
}
