package quantity

import (
	"encoding/json"
	"math"
	"testing"
)

func TestNumber(t *testing.T) {
	text, err := json.Marshal([]Number{0.5, Number(math.NaN()), Number(math.Inf(-1))})
	if want := `[0.5,"NaN","-Inf"]`; err != nil || string(text) != want {
		t.Errorf("%s %v, want %s", text, err, want)
	}
}
