package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

//go:embed page.html
var pageText string

// styleText defines the template "style", which all pages have.
//
//go:embed style.html
var styleText string

//go:embed heat.js
var heatScript string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"time":    quantity.Time,
	"percent": quantity.Percent,
	"share":   quantity.Share,
	"ratio":   ratio,
	"count":   func(n int, word string) string { return quantity.Count(n, word) },
	"when":    func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"width":   func(share float64) template.CSS { return css("width", 100*min(share, 1)) },
	"times":   func(a, b float64) string { return ratio(a / b) },
	"script":  func() template.JS { return template.JS(heatScript) },
	"heat":    heat,
	"roof":    RooflineHTML,
}).Parse(styleText + pageText))

// Write writes the page. Characters that would let a text look like another, or
// that HTML has no place for, are replaced.
func Write(w io.Writer, s *Story) error {
	screen := diag.NewScreen(w)
	if err := page.Execute(screen, s); err != nil {
		return err
	}
	return screen.Close()
}

// heatData is what the page's script draws maps of any two parameters from.
type heatData struct {
	Names  []string     `json:"names"`
	Rows   [][]string   `json:"rows"` // the values of each trial, in the order of Names
	Speeds []heatNumber `json:"speeds"`
}

// heatNumber is a speed; null in JSON if the trial did not run.
type heatNumber float64

// MarshalJSON writes what did not run as null.
func (h heatNumber) MarshalJSON() ([]byte, error) {
	if h == 0 || math.IsInf(float64(h), 0) || math.IsNaN(float64(h)) {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.5g", float64(h)), nil
}

func heat(k *Kernel) heatData {
	h := heatData{Names: []string{}}
	for _, im := range k.Importance {
		h.Names = append(h.Names, im.Name)
	}
	for _, t := range k.Trials {
		row := []string{}
		for _, n := range h.Names {
			row = append(row, t.value(n))
		}
		h.Rows = append(h.Rows, row)
		v := heatNumber(0)
		if t.Refused == "" && t.Seconds > 0 {
			v = heatNumber(Speed(k.Points, t.Seconds))
		}
		h.Speeds = append(h.Speeds, v)
	}
	return h
}
