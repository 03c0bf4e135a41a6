package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// harvest is what a search leaves in a folder: its story, the report, the best
// plan and a library.
type harvest struct {
	source *diag.Source
	bound  *ir.Binding
	set    map[string]string
	about  measure.About
	mode   toolchain.Arithmetic
	free   bool
}

// reserve makes the folder, and finds out before any work whether it can be
// written to.
func reserve(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return gridio.Named(dir, err)
	}
	return gridio.CheckFile(filepath.Join(dir, "tuning.json"))
}

// write writes all files or none.
func (h *harvest) write(dir string, r *tuner.Result, rivals []report.Variant, say func(format string, args ...any)) error {
	t := &report.Tuning{Result: *r, File: filepath.Base(h.source.Name), Source: h.source.Text, Library: []report.Variant{}}
	files, variants, err := h.library(r, rivals)
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
	story, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	files = append(files, emit.File{Name: "best.plan", Text: r.Best + "\n"}, emit.File{Name: "report.html", Text: page},
		emit.File{Name: "tuning.json", Text: string(story) + "\n"})
	return writeTree(dir, files)
}

// reportText draws a report.
func reportText(t *report.Tuning) (string, error) {
	var b strings.Builder
	err := report.Write(&b, t.Story())
	return b.String(), err
}

// writeTree writes files into a folder and folders in it: all of them or none.
func writeTree(dir string, files []emit.File) error {
	var paths, made []string
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		paths = append(paths, path)
		for _, folder := range []string{dir, filepath.Dir(path)} {
			if _, err := os.Stat(folder); err != nil && !slices.Contains(made, folder) {
				made = append(made, folder)
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return gridio.Named(filepath.Dir(path), err)
		}
	}
	err := gridio.WriteFiles(paths, func(i int, w io.Writer) error {
		_, err := io.WriteString(w, files[i].Text)
		return err
	})
	if err != nil {
		for _, folder := range slices.Backward(made) {
			os.Remove(folder) // those that are empty
		}
	}
	return err
}

// candidates returns the plans that a library might have for the tuned sizes:
// kernels of a library take sizes as arguments, so those that were timed like
// that come first, the fastest before the others.
func candidates(r *tuner.Result) []report.Variant {
	var timed, made []report.Variant
	for _, c := range r.Contenders {
		p, err := schedule.ParsePlan(c.Plan)
		if err != nil || c.Name == "plain" {
			continue
		}
		if sized, same := tuner.ForAllSizes(p); same {
			timed = append(timed, report.Variant{Plan: c.Plan, Seconds: c.Seconds, Low: c.Interval[0], High: c.Interval[1]})
		} else {
			made = append(made, report.Variant{Plan: sized.String()})
		}
	}
	return append(timed, made...)
}

// library makes the library of the best plan that can be one, and says which
// that is.
func (h *harvest) library(r *tuner.Result, rivals []report.Variant) ([]emit.File, []report.Variant, error) {
	list := candidates(r)
	if len(list) == 0 {
		list = append(list, report.Variant{})
	}
	var first error
	for _, v := range list {
		v.Sizes = sizesOf(h.bound)
		files, err := h.pack([]report.Variant{v})
		if err == nil {
			return files, []report.Variant{v}, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, nil, first
}

// pack makes a library with kernels for several sizes.
func (h *harvest) pack(variants []report.Variant) ([]emit.File, error) {
	p := h.bound.Program
	o := lower.Options{
		Target: h.about.Target, Strict: h.mode == toolchain.Strict, Fast: h.mode == toolchain.Fast,
		Lacks: h.about.Lacks, Machine: h.about.Machine, Free: h.free,
	}
	var err error
	if o.Bound, err = h.coefficients(); err != nil {
		return nil, err
	}
	var plans []schedule.Plan
	for _, v := range variants {
		plan, err := schedule.ParsePlan(v.Plan)
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	modules, err := lower.Variants(p, o, plans)
	if err != nil {
		return nil, err
	}
	return emit.Library(modules[0], emit.LibraryOptions{
		Source: filepath.Base(h.source.Name), Plan: variants[0].Plan, Arithmetic: emitArithmetic[h.mode.String()],
		Bound: o.Bound, Dialect: h.about.Dialect,
	})
}

// coefficients binds those; nil if there are none.
func (h *harvest) coefficients() (*ir.Binding, error) {
	set, needed := map[string]string{}, false
	p := h.bound.Program
	for _, s := range p.Scalars {
		if !s.Coefficient {
			continue
		}
		needed = true
		if v, ok := h.set[s.Name]; ok {
			set[s.Name] = v
		}
	}
	if !needed {
		return nil, nil
	}
	b, list := p.Coefficients(set)
	if list.HasErrors() {
		return nil, fmt.Errorf("%s", list[0].Message)
	}
	return b, nil
}

// sizesOf returns the sizes of a program as the store has them.
func sizesOf(b *ir.Binding) string {
	var sizes []string
	for i, q := range b.Program.Params {
		sizes = append(sizes, fmt.Sprintf("%s=%d", q.Name, b.Params[i]))
	}
	return strings.Join(sizes, ",")
}
