package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestVerdicts(t *testing.T) {
	if Of(nil) != OK || Of(io.EOF) != OK || For(Launch, nil) != nil || For(OK, io.EOF) != io.EOF {
		t.Error("something that is no refusal is one")
	}
	err := fmt.Errorf("heat: %w", For(Compiler, io.EOF))
	if Of(err) != Compiler || err.Error() != "heat: EOF" || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if again := For(Launch, err); again != err {
		t.Error("a refusal got a second reason")
	}
}

func TestNames(t *testing.T) {
	for r, want := range map[Verdict]string{OK: `"ok"`, Timeout: `"timeout"`, Crash: `"crash"`, Wrong: `"wrong"`, Constraint: `"constraint"`, Resources: `"resources"`,
		Compiler: `"compiler"`, Launch: `"launch"`} {
		text, err := json.Marshal(r)
		var back Verdict
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || back != r {
			t.Errorf("%d is %s and comes back as %d: %v", r, text, back, err)
		}
	}
	var r Verdict
	if err := json.Unmarshal([]byte(`"weather"`), &r); err == nil ||
		err.Error() != `there is no verdict "weather"` {
		t.Error(err)
	}
}
