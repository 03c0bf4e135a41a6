package report

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Use is a way to use what was found: words, and commands to type.
type Use struct {
	Text     string
	Commands []string
}

// Uses says what can be done with the files beside the page.
func (t *Tuning) Uses() []Use {
	file := t.File
	if file == "" {
		file = t.Program + ".loom"
	}
	run := []string{"gridloom", "run", file}
	for _, name := range slices.Sorted(maps.Keys(t.Set)) {
		run = append(run, "--set", name+"="+t.Set[name])
	}
	if t.Device.ID != "" && t.Device.ID != "cpu" {
		run = append(run, "--device", t.Device.ID)
	}
	if a := t.Device.Arithmetic; a != "" && a != "contract" {
		run = append(run, "--fp", a)
	}
	list := []Use{{"Run the program with the best plan, from the folder of this page:",
		[]string{shell(append(run, "--plan", "@best.plan"))}}}
	if t.Session != "" {
		list = append(list,
			Use{"Without --plan, run takes the plan from the store by itself, for these sizes and for similar ones:",
				[]string{shell(run)}})
	}
	if len(t.Library) > 0 {
		list = append(list,
			Use{
				"Build the tuned kernels as a library for C, C++, Python and Fortran; library/README.md says how to call it:",
				[]string{"cmake -S library -B build", "cmake --build build"}})
	}
	return list
}

// plainWord matches what no shell takes for anything but itself.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shell writes a command as a shell reads it.
func shell(words []string) string {
	var out []string
	for _, w := range words {
		if !plainWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// Maker names what has drawn the page.
func (t *Tuning) Maker() string { return Maker(t.Version, t.Commit) }

// Maker names a Gridloom by its version and its commit, where they are known.
func Maker(version, commit string) string {
	text := "Gridloom"
	if version != "" {
		text += " " + version
	}
	if commit != "" {
		text += fmt.Sprintf(" (commit %s)", commit)
	}
	return text
}
