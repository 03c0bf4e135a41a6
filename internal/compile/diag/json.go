package diag

import "encoding/json"

type jsonPlace struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	EndLine int    `json:"end_line"`
	EndCol  int    `json:"end_col"`
	Offset  int    `json:"offset"`
	End     int    `json:"end_offset"`
}

type jsonNote struct {
	jsonPlace
	Message string `json:"message"`
}

type jsonDiagnostic struct {
	jsonPlace
	Severity string     `json:"severity"`
	Message  string     `json:"message"`
	Hint     string     `json:"hint,omitempty"`
	Notes    []jsonNote `json:"notes,omitempty"`
}

// JSON returns the list as a JSON array, for editors and other programs.
func JSON(src *Source, list List) ([]byte, error) {
	out := make([]jsonDiagnostic, 0, len(list))
	for _, d := range list {
		j := jsonDiagnostic{
			jsonPlace: place(src, d.Range),
			Severity:  d.Severity.String(),
			Message:   d.Message,
			Hint:      d.Hint,
		}
		for _, n := range d.Notes {
			j.Notes = append(j.Notes, jsonNote{place(src, n.Range), n.Message})
		}
		out = append(out, j)
	}
	return json.MarshalIndent(out, "", "  ")
}

func place(src *Source, r Range) jsonPlace {
	a, b := src.Position(r.Start), src.Position(r.End)
	return jsonPlace{File: src.Name, Line: a.Line, Col: a.Col, EndLine: b.Line, EndCol: b.Col, Offset: a.Offset,
		End: b.Offset}
}
