package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// reserve makes the folder, and finds out before any work whether it can be
// written to.
func reserve(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return gridio.Named(dir, err)
	}
	file := filepath.Join(dir, "tuning.json")
	if err := noLink(file); err != nil {
		return err
	}
	return gridio.CheckFile(file)
}

// writeTuning writes what a search leaves in a folder, all of it or nothing: its story, the report,
// the best plan and a library.
func writeTuning(dir string, src *diag.Source, r engine.LibraryRequest, p *profile.Profile,
	say func(format string, args ...any)) error {
	s := &r.Tuned.Session
	t := &report.Tuning{
		Result: *r.Tuned.Result, File: filepath.Base(src.Name), Source: src.Text,
		Session: s.ID, Limits: s.Budget.String(),
		Space: s.Space.String(), Set: r.Set, Version: Version, Commit: revision(), Library: []report.Variant{},
		Profile: p, Predicted: r.Tuned.Predicted, Prior: r.Tuned.Prior,
	}
	files, variants, err := engine.Library(r)
	if err != nil {
		text, _ := split(err)
		t.Notes = append(slices.Clone(t.Notes), "there is no library: "+text)
		say("note: there is no library: %s", text)
	} else {
		t.Library = variants
	}
	for i := range files {
		files[i].Name = filepath.Join("library", files[i].Name)
	}
	page, err := reportText(t)
	if err != nil {
		return err
	}
	var story strings.Builder
	lines := json.NewEncoder(&story)
	lines.SetIndent("", "  ")
	lines.SetEscapeHTML(false) // people read the source in it
	if err := lines.Encode(t); err != nil {
		return err
	}
	files = append(files, emit.File{Name: "best.plan", Text: r.Tuned.Best + "\n"},
		emit.File{Name: "report.html", Text: page},
		emit.File{Name: "tuning.json", Text: story.String()})
	if v := r.Tuned.Version; v.Name != "" {
		ext := filepath.Ext(src.Name)
		name := strings.TrimSuffix(filepath.Base(src.Name), ext) + "_" + v.Name + ext
		files = append(files, emit.File{Name: name, Text: v.Source.Text})
	}
	return writeTree(dir, files)
}

// reportText draws a report.
func reportText(t *report.Tuning) (string, error) {
	var b strings.Builder
	err := report.Write(&b, t.Story())
	return b.String(), err
}
