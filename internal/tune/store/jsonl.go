package store

import (
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/gridloom/gridloom/internal/tune/session"
)

// Gridloom's own form of exchange keeps everything. It is JSON, a value a line:
// first what it is, then each session followed by its trials.
//
//	{"gridloom":"results","version":3}
//	{"session":{"id":"0f3c...","program":{...},"device":{...},...}}
//	{"event":{"session":"0f3c...","index":0,"event":"start","text":"..."}}
//	{"trial":{"session":"0f3c...","index":0,"config":"...","verdict":"ok",...}}
//
// The version is session.Version. The text of a program's IR stands in the first
// session of the program alone.
type line struct {
	Gridloom string           `json:"gridloom,omitempty"`
	Version  int              `json:"version,omitempty"`
	Session  *session.Session `json:"session,omitempty"`
	Trial    *trialLine       `json:"trial,omitempty"`
	Event    *eventLine       `json:"event,omitempty"`
}

type trialLine struct {
	Session string `json:"session"`
	session.Trial
}

type eventLine struct {
	Session string `json:"session"`
	session.Event
}

const linesName = "results"

// ExportLines writes the trials of a filter as lines of JSON, which Import
// reads. Sessions without such trials are left out; the others come with all events.
func ExportLines(ctx context.Context, s Store, w io.Writer, f Filter) error {
	return exportLines(ctx, s, w, f, func(*session.Trial) {})
}

// ExportBrief writes the same without what is of use to those alone who measure: samples, conditions of the device,
// what a trial took, and the last digits of times. Recordings that models learn from are so.
func ExportBrief(ctx context.Context, s Store, w io.Writer, f Filter) error {
	return exportLines(ctx, s, w, f, func(t *session.Trial) {
		t.Samples, t.Condition, t.Error = nil, session.Condition{}, 0
		t.Measure, t.Validate, t.Search, t.Other = 0, 0, 0, 0
		for _, v := range []*float64{&t.Median, &t.Low, &t.High} {
			*v = rounded(*v)
		}
	})
}

// rounded keeps six digits, which are more than measurements of times have.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // it has just been written
	return v
}

func exportLines(ctx context.Context, s Store, w io.Writer, f Filter, trim func(*session.Trial)) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line{Gridloom: linesName, Version: session.Version}); err != nil {
		return err
	}
	var current *session.Session
	written := map[string]bool{} // programs whose text was
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return err
		}
		if r.Session != current {
			current = r.Session
			if err := exportSession(ctx, s, enc, *current, written); err != nil {
				return err
			}
		}
		trim(&r.Trial)
		if err := enc.Encode(line{Trial: &trialLine{current.ID, r.Trial}}); err != nil {
			return err
		}
	}
	return nil
}

// exportSession writes a session with its events.
func exportSession(ctx context.Context, s Store, enc *json.Encoder, x session.Session, written map[string]bool) error {
	if written[x.Program.Hash] {
		x.Program.IR = ""
	}
	written[x.Program.Hash] = true
	if err := enc.Encode(line{Session: &x}); err != nil {
		return err
	}
	for e, err := range s.Events(ctx, x.ID) {
		if err != nil {
			return err
		}
		if err := enc.Encode(line{Event: &eventLine{x.ID, e}}); err != nil {
			return err
		}
	}
	return nil
}
