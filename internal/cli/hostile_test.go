package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// evil is a text that clears a terminal, sets its title, goes back in the line,
// turns the direction of writing and begins a line of its own.
const evil = "\x1b[2J\x1b]0;title\x07\rback\b\u009b31m\u202eright\u2066\u200b\u2028\x7f\ngridloom: all is well"

// invoke runs a command in this process.
func invoke(args ...string) (status int, stdout, stderr string) {
	var out, err strings.Builder
	status = run(context.Background(), &interruption{}, args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// Whatever is in names of files, in sources, on the command line and in what
// is imported, no command writes anything that steers a terminal, or a line of
// its making.
func TestNothingSteersTheTerminal(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = "parameter N=8; iterator i; double u[N]; boundary u : clamp; copyin u; copyout u;\n" +
		"stencil s (u) { u[i] += 1; }\ns (u);\n"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	at := "/" + evil + "/" + evil
	source := file(evil+".loom", good)
	wrong := file(evil+"wrong.loom", "double u; // \xff"+evil+"\nu = "+evil+";\n\"x\u202e\";")
	spec := file(evil+".spec", "kernels \""+evil+"\" = \"\x1b\";")
	cache := file("cache.json", `{"device_name": `+string(quoted)+`, "kernel_name": `+string(quoted)+`, "problem_size": [`+string(quoted)+`],
 "tune_params_keys": ["a"], "tune_params": {"a": [1, 2]},
 "cache": {"1": {"a": 1, "time": 1.0}, "2": {"a": 2, "time": "InvalidConfig"}}}`)
	named := strings.Replace(cache, "cache", "named", 1)
	if err := os.Link(cache, named); err != nil {
		t.Fatal(err)
	}
	lines := file("lines.jsonl", `{"gridloom":"results","version":1}`+"\n"+strings.ReplaceAll(`{"session":{"id":EVIL,"program":{"name":EVIL,"hash":"h"},"device":{"api":EVIL,"name":EVIL},"sizes":EVIL,"strategy":EVIL,"outcome":EVIL}}
{"trial":{"session":EVIL,"index":0,"kernel":EVIL,"config":"a=1","verdict":"refused","note":EVIL}}`, "EVIL", string(quoted)))
	store := filepath.Join(dir, evil+".db")
	for _, args := range [][]string{
		{"check", wrong}, {"check", "--json", wrong}, {"check", at}, {"check", "--" + evil}, {evil},
		{"fmt", wrong}, {"fmt", "-l", source},
		{"explain", source}, {"explain", "--json", source},
		{"explain", source, "--set", evil + "=" + evil}, {"explain", source, "--machine", at},
		{"explain", source, "--machine", wrong}, {"explain", source, "--svg", at},
		{"run", source, "--device", "ref", "--out", "u=" + filepath.Join(dir, evil+".npy")},
		{"run", source, "--device", evil},
		{"run", source, "--device", "ref", "--in", "u=" + at}, {"run", source, "--device", "ref", "--in", "u=" + wrong},
		{"run", source, "--device", "ref", "--out", "u=" + at},
		{"run", source, "--plan", evil}, {"run", source, "--plan", "@" + at}, {"run", source, "--plan", "@" + wrong},
		{"run", source, "--resume", at},
		{"space", source, "--fix", evil + "=" + evil},
		{"space", source, "--limit", evil}, {"space", source, "--space", wrong},
		{"emit", source, "--out", filepath.Join(dir, evil)}, {"emit", source, "--out", source + "/x"},
		{"emit", source, "--plan", evil},
		{"results", "import", "--store", store, cache}, {"results", "import", "--store", store, lines},
		{"results", "import", "--store", store, evil}, {"results", "import", "--store", store, wrong},
		{"results", "list", "--store", store}, {"results", "list", "--store", store, "--json"},
		{"results", "sessions", "--store", store}, {"results", "sessions", "--store", store, "--json"},
		{"results", "list", "--best", "--store", store},
		{"results", "check", "--store", store}, {"results", "path", "--store", store},
		{"results", "list", "--store", wrong},
		{"results", "list", "--program", evil, "--store", store},
		{"results", "export", "--store", store, "--format", evil},
		{"results", "export", "--store", store, "--out", at + ".csv"},
		{"report", at}, {"report", wrong},
		{"tune", source, "--strategy", spec}, {"tune", source, "--strategy", evil}, {"tune", source, "--device", evil},
		{"search", "show", evil}, {"search", "eval", "--space", wrong},
		{"search", "eval", "--space", at}, {"search", "eval", "--space", cache, "--strategy", evil},
	} {
		_, stdout, stderr := invoke(args...)
		if stdout+stderr == "" {
			t.Errorf("%q says nothing", args)
		}
		for _, text := range []string{stdout, stderr} {
			if text != diag.Visible(text) {
				t.Errorf("%q says %q", args, text)
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "gridloom: all is well") {
					t.Errorf("%q: a name makes a line of its own: %q", args, text)
				}
			}
		}
		if strings.Contains(strings.Join(args, " "), "--json") && !json.Valid([]byte(stdout)) {
			t.Errorf("%q prints no JSON: %q", args, stdout)
		}
	}
	// As JSON nothing is lost.
	_, stdout, _ := invoke("results", "list", "--store", store, "--json")
	var rows []struct{ Program string }
	var want string
	json.Unmarshal(quoted, &want)
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || len(rows) != 2 || rows[0].Program != want {
		t.Errorf("%v: the program is called %q", err, stdout)
	}
}

// A file without an end is refused once it has more than such a file may have.
func TestEndlessFiles(t *testing.T) {
	dir := t.TempDir()
	spec, source := filepath.Join(dir, "a.spec"), filepath.Join(dir, "a.loom")
	if err := os.Symlink("/dev/zero", spec); err != nil {
		t.Fatal(err)
	}
	const good = "parameter N=8; iterator i; double u[N]; boundary u : clamp; copyin u; copyout u;\n" +
		"stencil s (u) { u[i] += 1; }\ns (u);\n"
	if err := os.WriteFile(source, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	const small = "it has more than 1 MiB, which is the most that is read of such a file"
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"check", "/dev/zero"}, "a source file has at most 16777216 bytes"},
		{[]string{"run", source, "--plan", "@/dev/zero"}, small},
		{[]string{"space", source, "--space", "/dev/zero"}, small},
		{[]string{"explain", source, "--machine", "/dev/zero"}, small},
		{[]string{"tune", source, "--strategy", spec}, small},
	} {
		status, _, stderr := invoke(c.args...)
		if status == 0 || !strings.Contains(stderr, c.says) {
			t.Errorf("%q ends with %d: %s", c.args, status, stderr)
		}
	}
}

// What is for programs comes as it is.
func TestDataAreExact(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.loom")
	text := "// \x1b[31m \u202e\nparameter N = 8;\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := invoke("fmt", source); status != 0 || stdout != text {
		t.Errorf("fmt ends with %d and prints %q and %q", status, stdout, stderr)
	}
	if strings.ContainsFunc(text, unicode.IsControl) == false {
		t.Error("the text is harmless")
	}
}
