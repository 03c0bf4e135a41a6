package store

import "testing"

// What a spreadsheet would run is a text.
func TestHarmless(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "heat3d": "heat3d", "-1.5e-3": "-1.5e-3", "+2": "+2", "a=1": "a=1",
		"family=cells,block=4x32": "family=cells,block=4x32",
		"=1+1":                    "'=1+1", "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "@SUM(A1)": "'@SUM(A1)",
		"-O3 -march=native": "-O3 -march=native", "--fmad=false": "--fmad=false",
		"-HYPERLINK(1)": "'-HYPERLINK(1)", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "\t=1": "'\t=1",
		"\r=1": "'\r=1", "\n=1": "'\n=1",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
}
