package explain

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// Spans returns for each innermost loop whether several iterations may share a kernel. What
// forbids it is shown in the source.
func Spans(src *diag.Source, list []*pipeline.Facts, style diag.Style) string {
	e := &explainer{}
	for _, f := range list {
		e.printf("\n%s[0:%d]: ", f.Loop, f.Leaves)
		if f.Forbidden != "" {
			what := "iterations"
			if f.Once {
				what = "statements"
			}
			e.printf("its %s cannot share a kernel\n", what)
			why := diag.List{{
				Severity: diag.Remark, Range: f.At, Message: f.Forbidden, Notes: f.Notes, Hint: f.Hint,
			}}
			e.b.WriteString(diag.Render(src, why, style))
			continue
		}
		what := "several iterations"
		switch {
		case f.Once:
			what = "its statements"
		case len(f.Depths) > 0 && f.Depths[0].Depth == 1:
			what = "the statements of an iteration, and of several,"
		}
		e.printf("%s may share a kernel\n", what)
		for _, d := range f.Depths {
			e.field(fmt.Sprintf("@%d", d.Depth), depthText(d, f.Once))
		}
	}
	return e.b.String()
}

func depthText(d pipeline.DepthFacts, once bool) string {
	each := " and iteration"
	if once {
		each = ""
	}
	var halos []string
	for k, axis := range d.Axes {
		if low, high := d.Halo[k][0], d.Halo[k][1]; low == high {
			halos = append(halos, fmt.Sprintf("%s %d", axis, low))
		} else {
			halos = append(halos, fmt.Sprintf("%s %d:%d", axis, low, high))
		}
	}
	text := fmt.Sprintf("halo %s; %s bytes a point%s; stores %s", strings.Join(halos, ", "),
		number(d.Bytes), each, strings.Join(d.Stores, ", "))
	if len(d.Drops) > 0 {
		text += "; leaves out " + strings.Join(d.Drops, ", ")
	}
	if len(d.Spares) > 0 {
		text += "; needs a spare of " + strings.Join(d.Spares, ", ")
	}
	if d.After > 0 {
		text += fmt.Sprintf("; %s must follow", count(float64(d.After), "iteration"))
	}
	return text
}
