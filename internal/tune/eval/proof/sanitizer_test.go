package proof

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compute-sanitizer is asked for memory and for races, and what it counts are
// failures.
func TestSanitizer(t *testing.T) {
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$@" >> ` + filepath.Join(dir, "asked") + `
case $2 in
memcheck) echo "========= ERROR SUMMARY: 0 errors" ;;
racecheck) echo "========= Error: Potential hazard"; echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)" ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "compute-sanitizer"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	o := DeviceOptions{Device: "cuda:0", Sources: given(t, "heat3d.loom"), Seed: 1, Workers: 1, Sanitize: 2}
	r, err := Device(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sanitized != 2 || len(r.Failures) != 2 || len(r.Missing) > 0 {
		t.Fatalf("%d runs, missing %q, failures %v", r.Sanitized, r.Missing, r.Failures)
	}
	for _, f := range r.Failures {
		if !strings.HasPrefix(f.Reason, "compute-sanitizer, racecheck:\n========= Error: Potential hazard") ||
			f.Program != "heat3d.loom" {
			t.Error(f.String())
		}
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(asked)), "\n")
	if len(lines) != 4 {
		t.Fatalf("asked %d times", len(lines))
	}
	for _, l := range lines {
		for _, part := range []string{"--target-processes all", " run heat3d.loom --device cuda:0 --fp ", "--plan ",
			"--set L=", "--no-graph"} {
			if !strings.Contains(l, part) {
				t.Errorf("%q lacks %q", l, part)
			}
		}
		if strings.Contains(l, "literals") || strings.Contains(l, "initial[") {
			t.Errorf("a plan that run refuses: %s", l)
		}
	}
}

// Where it is not installed, the result says so.
func TestNoSanitizer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r, err := Device(context.Background(), DeviceOptions{Device: "cuda:0", Sources: given(t, "heat3d.loom"), Workers: 1,
		Sanitize: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Missing) != 1 || !strings.HasPrefix(r.Missing[0], "compute-sanitizer: ") || len(r.Failures) > 0 {
		t.Errorf("%+v", r)
	}
}
