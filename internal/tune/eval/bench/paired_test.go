package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const pairedScript = "../../../../bench/paired.py"

// binary writes a program that stands for gridloom: it says its version, and measures a speed that
// depends on how often it was called.
func binary(t *testing.T, name, speed string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := fmt.Sprintf(`#!/bin/sh
[ "$1" = version ] && { echo '{"revision": "%[1]s"}'; exit 0; }
echo x >> "$0.calls"
n=$(wc -l < "$0.calls")
for last; do :; done
case "$*" in *broken*) echo "it is broken" >&2; exit 3 ;; esac
echo "[{\"gstencils\": $(awk "BEGIN { n = $n; print %[2]s }"), \"registers\": 40, \"device\": \"d\"}]" > "$last"
`, name, speed)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// paired runs the script, and returns what it prints and its status.
func paired(t *testing.T, args ...string) (string, int) {
	t.Helper()
	out, err := exec.Command("python3", append([]string{pairedScript}, args...)...).CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Fatal(err)
	}
	status := 0
	if err != nil {
		status = err.(*exec.ExitError).ExitCode()
	}
	return string(out), status
}

// A row holds or falls by its median and interval; what was measured is not measured again; what
// cannot be run loses nothing.
func TestPaired(t *testing.T) {
	dir := t.TempDir()
	rows, out := filepath.Join(dir, "rows.json"), filepath.Join(dir, "out.json")
	const two = `[{"case": "star7", "dtype": "double", "plan": "family=cells"},
		{"case": "box27", "dtype": "float", "plan": "vec=2"}]`
	if err := os.WriteFile(rows, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	old := binary(t, "old", "200 + n % 2")
	for _, c := range []struct {
		name, speed string
		status      int
		want        string
	}{
		{"same", "200 + n % 2", 0, "yes"},
		{"slower", "190 + n % 2", 1, "NO"},
		{"noisy", "200 - 60 * (n % 3 == 0)", 0, "yes"},
	} {
		now := binary(t, c.name, c.speed)
		text, status := paired(t, "--old", old, "--new", now, "--rows", rows, "--out", out, "--rounds", "4")
		if status != c.status || strings.Count(text, " "+c.want+"\n") != 2 {
			t.Errorf("%s: status %d\n%s", c.name, status, text)
		}
	}
	calls := func() int {
		text, err := os.ReadFile(old + ".calls")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "x")
	}
	if n := calls(); n != 8 {
		t.Errorf("the old binary was called %d times, and what was measured counts", n)
	}
	before, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(two, "vec=2", "broken", 1)
	if err := os.WriteFile(rows, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	text, status := paired(t, "--old", old, "--new", old, "--rows", rows, "--out", out, "--only", "box27:float")
	after, err := os.ReadFile(out)
	if status != 3 || !strings.Contains(text, "box27 float, old: ") || !strings.Contains(text, "it is broken") ||
		err != nil || string(after) != string(before) {
		t.Errorf("status %d, %v: %s", status, err, text)
	}
	anew := filepath.Join(dir, "plans.json")
	if err := os.WriteFile(anew, []byte(`{"box27": {"float": ["vec=4", "vec=8"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rows, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	now := binary(t, "tuned", "200")
	text, status = paired(t, "--old", old, "--new", now, "--rows", rows, "--out", out, "--rounds", "3",
		"--new-plans", anew)
	if status != 0 {
		t.Errorf("plans tuned anew: status %d\n%s", status, text)
	}
	merged, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var kept []struct{ Case, Plan, Binary, Commit string }
	if err := json.Unmarshal(merged, &kept); err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, k := range kept {
		if k.Commit == "tuned" || k.Binary == "old" {
			times[k.Commit+" "+k.Case+" "+k.Plan]++
		}
	}
	want := map[string]int{
		"old star7 family=cells": 4, "old box27 vec=2": 4, "tuned star7 family=cells": 3, "tuned box27 vec=4": 3,
	}
	if !maps.Equal(times, want) {
		t.Errorf("measured %v, want %v", times, want)
	}
	text, status = paired(t, "--old", old, "--new", old, "--rows", rows, "--out", out, "--only", "none:int")
	if status == 0 || !strings.Contains(text, "no row is called so") {
		t.Errorf("status %d: %s", status, text)
	}
}

// cpuBinary writes a program that stands for gridloom: one of "bench cpu" with two cases, which
// may know --case.
func cpuBinary(t *testing.T, name string, knowsCase bool, ratio string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	refuse := `case "$*" in *--case*) echo "gridloom: unknown flag --case" >&2; exit 2 ;; esac`
	if knowsCase {
		refuse = ""
	}
	text := fmt.Sprintf(`#!/bin/sh
[ "$1" = version ] && { echo '{}'; exit 0; }
[ "$1 $2 $3 $4" = "bench cpu --pairs 9" ] || { echo "called with $*" >&2; exit 2; }
%s
echo "$*" >> "$0.calls"
for last; do :; done
star='{"case": "3D star", "dtype": "double", "plan": "block=1x0", "gstencils": 2, "ratio_to_openmp": %[2]s}'
other='{"case": "Himeno", "dtype": "float", "plan": "block=0x0", "gstencils": 1, "ratio_to_openmp": 0.5}'
case "$*" in
*"--case 3D star"*) echo "[$star]" ;;
*"--case Himeno"*) echo "[$other]" ;;
*) echo "[$star, $other]" ;;
esac > "$last"
`, refuse, ratio)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Rows of the suite cpu are judged by their ratio to the code by hand. A binary that measures
// no single row runs the suite once a round. What was measured is not measured again, unless
// the binary is another one.
func TestPairedCPU(t *testing.T) {
	dir := t.TempDir()
	rows, out := filepath.Join(dir, "rows.json"), filepath.Join(dir, "out.json")
	const two = `[{"case": "3D star", "dtype": "double"}, {"case": "Himeno", "dtype": "float"}]`
	if err := os.WriteFile(rows, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := func(path string) int {
		text, err := os.ReadFile(path + ".calls")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	old := cpuBinary(t, "old", false, "0.9")
	same, slower := cpuBinary(t, "same", true, "0.91"), cpuBinary(t, "slower", true, "0.8")
	for _, c := range []struct {
		now           string
		status, holds int
	}{{same, 0, 2}, {slower, 1, 1}, {same, 0, 2}} {
		text, status := paired(t, "--suite", "cpu", "--old", old, "--new", c.now, "--rows", rows, "--out", out,
			"--rounds", "3")
		if status != c.status || strings.Count(text, " yes\n") != c.holds {
			t.Errorf("%s: status %d\n%s", c.now, status, text)
		}
	}
	if a, b, c := calls(old), calls(same), calls(slower); a != 3 || b != 6 || c != 6 {
		t.Errorf("the binaries were called %d, %d and %d times, want 3, 6 and 6", a, b, c)
	}
	text, status := paired(t, "--suite", "cpu", "--old", old, "--new", same, "--rows", rows, "--out", out,
		"--rounds", "4", "--only", "Himeno:float")
	if status != 0 || strings.Contains(text, "3D star") || calls(old) != 4 || calls(same) != 7 {
		t.Errorf("one row: status %d, %d and %d calls\n%s", status, calls(old), calls(same), text)
	}
	if err := os.WriteFile(rows, []byte(`[{"case": "none", "dtype": "int"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	text, status = paired(t, "--suite", "cpu", "--old", old, "--new", same, "--rows", rows, "--out", out)
	if status != 3 || !strings.Contains(text, "none int, old: not in the result") {
		t.Errorf("a row that no result has: status %d\n%s", status, text)
	}
}
