package arith

import "testing"

func TestNamesParseBack(t *testing.T) {
	for _, m := range []Mode{Strict, Contract, Fast} {
		if got, err := Parse(m.String()); err != nil || got != m {
			t.Errorf("%q parses as %v, %v", m, got, err)
		}
	}
	const want = `there is no arithmetic mode "loose": it is strict, contract or fast`
	if _, err := Parse("loose"); err == nil || err.Error() != want {
		t.Error(err)
	}
}
