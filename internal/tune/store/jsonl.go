package store

import (
	"context"
	"encoding/json"
	"io"
)

// Gridloom's own form of exchange keeps everything. It is JSON, a value a line:
// first what it is, then each session followed by its trials.
//
//	{"gridloom":"results","version":2}
//	{"session":{"id":"0f3c...","program":{...},"device":{...},...}}
//	{"trial":{"session":"0f3c...","index":0,"config":"...","verdict":"ok",...}}
//
// Sessions of version 1 of the form do not say by which definitions they were
// made. Whoever reads that version alone must not take later sessions for such.
type line struct {
	Gridloom string     `json:"gridloom,omitempty"`
	Version  int        `json:"version,omitempty"`
	Session  *Info      `json:"session,omitempty"`
	Trial    *trialLine `json:"trial,omitempty"`
}

type trialLine struct {
	Session string `json:"session"`
	Trial
}

const (
	linesName    = "results"
	linesVersion = 2
)

// ExportLines writes the trials of a filter as lines of JSON, which Import
// reads. Sessions without such trials are left out.
func (s *Store) ExportLines(ctx context.Context, w io.Writer, f Filter) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line{Gridloom: linesName, Version: linesVersion}); err != nil {
		return err
	}
	var current *Info
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return err
		}
		if r.Session != current {
			current = r.Session
			if err := enc.Encode(line{Session: current}); err != nil {
				return err
			}
		}
		if err := enc.Encode(line{Trial: &trialLine{current.ID, r.Trial}}); err != nil {
			return err
		}
	}
	return nil
}
