package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

//go:embed page.html
var pageText string

//go:embed heat.js
var heatScript string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"short":  func(v float64) string { return short(round(v, 4)) },
	"time":   duration,
	"speed":  Speed,
	"when":   func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"times":  func(a, b float64) float64 { return a * b },
	"script": func() template.JS { return template.JS(heatScript) },
	"heat":   heat,
}).Parse(pageText))

// Write writes the page. Characters that would let a text look like another, or
// that HTML has no place for, are replaced.
func Write(w io.Writer, s *Story) error {
	for _, p := range s.Plans {
		if !(p.Low > 0 && p.Low <= p.Seconds && p.Seconds <= p.High) {
			return fmt.Errorf("report: plan %s takes %g s, which is not between %g and %g s", p.Name, p.Seconds, p.Low, p.High)
		}
	}
	screen := diag.NewScreen(w)
	if err := page.Execute(screen, s); err != nil {
		return err
	}
	return screen.Close()
}

// Row is a line of the table of plans.
type Row struct {
	Plan
	Speed   float64
	Percent float64 // of the roofline; 0 if that is not known
}

// Rows returns the table of plans.
func (s *Story) Rows() []Row {
	var rows []Row
	for _, p := range s.Plans {
		r := Row{Plan: p, Speed: Speed(s.Points, p.Seconds)}
		if s.Bound > 0 {
			r.Percent = 100 * s.Bound / p.Seconds
		}
		first := s.Plans[0]
		if r.Gain == 0 { // what follows from both intervals
			r.Gain, r.GainLow, r.GainHigh = first.Seconds/p.Seconds, first.Low/p.High, first.High/p.Low
		}
		if p.Name == first.Name {
			r.GainLow, r.GainHigh = 1, 1
		}
		rows = append(rows, r)
	}
	return rows
}

// duration writes a time in a fitting unit.
func duration(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if seconds >= u.size {
			return fmt.Sprintf("%s %s", short(round(seconds/u.size, 4)), u.name)
		}
	}
	return fmt.Sprintf("%s ns", short(round(seconds*1e9, 4)))
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
	for _, im := range k.Importances() {
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
