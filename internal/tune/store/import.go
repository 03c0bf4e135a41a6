package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Source says what a file of results does not: T4 names neither.
type Source struct {
	Program string
	Device  string
}

// Imported counts what an import has found.
type Imported struct {
	Sessions int `json:"sessions"` // new ones
	Trials   int `json:"trials"`   // new ones
	Already  int `json:"already"`  // trials that were there
}

// BadFile is what is wrong with a file of results.
type BadFile struct {
	Text string
	Hint string
}

func (e *BadFile) Error() string {
	if e.Hint != "" {
		return e.Text + " (" + e.Hint + ")"
	}
	return e.Text
}

func badFile(hint, format string, args ...any) error {
	return &BadFile{fmt.Sprintf(format, args...), hint}
}

// Import takes in what ExportLines has written, results of T4, or a cache of
// Kernel Tuner; gzip may be around any of them. All of the file is imported or
// nothing. What is there already is passed over, so that a file may be imported twice.
func Import(ctx context.Context, s Store, r io.Reader, from Source) (Imported, error) {
	var m *importer
	err := s.Merge(ctx, func(b Batch) error {
		m = &importer{ctx: ctx, batch: b, sessions: map[string]*session.Session{}, from: from}
		return m.file(r)
	})
	if errors.Is(err, errAlready) {
		return Imported{Already: m.count.Trials}, nil
	}
	if err != nil {
		return Imported{}, err
	}
	return m.count, nil
}

// Inspect reads all of a file as Import would take it in, keeps nothing, and returns what it has.
func Inspect(ctx context.Context, r io.Reader, from Source) (Imported, error) {
	m := &importer{ctx: ctx, batch: inspected{}, sessions: map[string]*session.Session{}, from: from}
	if err := m.file(r); err != nil {
		return Imported{}, err
	}
	return m.count, nil
}

// inspected is a batch that keeps of its sessions which versions they are of, and nothing else.
type inspected map[string]versions.Set

// Session implements Batch.
func (b inspected) Session(x *session.Session) (bool, error) {
	has, ok := b[x.ID]
	if ok && has != x.Set {
		return false, Unlike(x, has)
	}
	b[x.ID] = x.Set
	return !ok, nil
}

// Trial implements Batch.
func (inspected) Trial(string, *session.Trial) (bool, error) { return true, nil }

// Event implements Batch.
func (inspected) Event(string, *session.Event) (bool, error) { return true, nil }

// Rename implements Batch.
func (inspected) Rename(string, string) (bool, error) { return true, nil }

// errAlready ends the import of a file that was imported before.
var errAlready = &BadFile{Text: "the file was imported before"}

type importer struct {
	ctx      context.Context
	batch    Batch
	sessions map[string]*session.Session
	from     Source
	count    Imported
	content  hash.Hash // of a file that names no sessions
	parts    *gridio.Portions
}

// Bounds of what is imported: large files are legal, but none is held whole.
const (
	maxPart = 16 << 20 // bytes of a trial or a session, or of what else is between two
	maxText = 16 << 30
)

func (m *importer) file(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return badFile("", "%v", err)
		}
		in = bufio.NewReaderSize(plain, 1<<16)
	}
	m.parts = gridio.NewPortions(in, "one part of it", maxPart, maxText)
	start, err := in.Peek(64)
	if len(start) == 0 && err != nil && err != io.EOF {
		return badFile("", "%v", err)
	}
	if bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte(`{"gridloom":"results"`)) {
		return m.lines(m.parts)
	}
	m.content = sha256.New()
	return m.object(json.NewDecoder(io.TeeReader(m.parts, m.content)))
}

// lines reads what ExportLines writes.
func (m *importer) lines(in io.Reader) error {
	dec := json.NewDecoder(in)
	for n := 1; ; n++ {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		var l line
		m.parts.Next()
		err := dec.Decode(&l)
		if err == io.EOF {
			return nil
		}
		switch {
		case err != nil:
		case n == 1 && (l.Gridloom != linesName || l.Version < 1 || l.Version > session.Version):
			err = fmt.Errorf("version %d of the form is not known", l.Version)
		case n == 1:
		case l.Session != nil:
			err = m.session(l.Session)
		case l.Trial != nil:
			err = m.trial(l.Trial.Session, l.Trial.Trial)
		case l.Event != nil:
			err = m.event(l.Event.Session, l.Event.Event)
		default:
			err = errors.New("there is neither a session nor a trial nor an event")
		}
		if err := m.at("line", n, err); err != nil {
			return err
		}
	}
}

// at says where in the file something is wrong. Failures of the store stay
// as they are.
func (m *importer) at(what string, n int, err error) error {
	switch bad, failed := (*BadFile)(nil), (*storeError)(nil); {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return failed.err
	case errors.As(err, &bad):
		return &BadFile{fmt.Sprintf("%s %d: %s", what, n, bad.Text), bad.Hint}
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badFile("", "%s %d: the file ends too early", what, n)
	}
	return badFile("", "%s %d: %v", what, n, err)
}

// storeError is a failure of the store, not of the file.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

// stored tells failures of the store from what it has against the file.
func stored(err error) error {
	if _, ok := errors.AsType[*BadFile](err); ok || err == nil {
		return err
	}
	return &storeError{err}
}

// session takes in a session, or finds it.
func (m *importer) session(x *session.Session) error {
	if x.ID == "" {
		return badFile("", "a session without a name")
	}
	if err := x.Settle(); err != nil {
		hint := ""
		if x.Set.Known() != nil {
			hint = "use the Gridloom that wrote the file, or a later one"
		}
		return badFile(hint, "%v", err)
	}
	fresh, err := m.batch.Session(x)
	if fresh {
		m.count.Sessions++
	}
	m.sessions[x.ID] = x
	return stored(err)
}

// Unlike refuses to bring a session up to date by one of other versions. Databases
// say so for Batch.Session.
func Unlike(x *session.Session, has versions.Set) error {
	return badFile("", "session %s is of %s here, and of %s in the store", x.ID, x.Definitions(), has.Definitions())
}

func (m *importer) trial(id string, t session.Trial) error {
	if m.sessions[id] == nil {
		return badFile("", "a trial of session %q, of which the file has not spoken", id)
	}
	if err := t.Check(); err != nil {
		return err
	}
	fresh, err := m.batch.Trial(m.sessions[id].ID, &t)
	if fresh {
		m.count.Trials++
	} else {
		m.count.Already++
	}
	return stored(err)
}

func (m *importer) event(id string, e session.Event) error {
	if m.sessions[id] == nil {
		return badFile("", "an event of session %q, of which the file has not spoken", id)
	}
	if err := e.Check(); err != nil {
		return err
	}
	_, err := m.batch.Event(id, &e)
	return stored(err)
}

// cache is what a cache of Kernel Tuner says before its results.
type cache struct {
	Device string `json:"device_name"`
	Kernel string `json:"kernel_name"`
	Size   []any  `json:"problem_size"`
	Sizes  json.RawMessage
	Keys   []string
}

// sizes returns the sizes that a file names: as Gridloom does, or as Kernel Tuner does.
func (c *cache) sizes() session.Sizes {
	var list session.Sizes
	if json.Unmarshal(c.Sizes, &list) == nil {
		return list
	}
	list = nil
	for _, n := range c.Size {
		size := session.Size{Text: fmt.Sprint(n)}
		if v, ok := n.(float64); ok && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			size = session.Size{Value: int64(v)}
		}
		list = append(list, size)
	}
	return list
}

// object reads a file that is one object: T4 or a cache of Kernel Tuner.
func (m *importer) object(dec *json.Decoder) error {
	const what = "this is neither what gridloom results export writes (jsonl, t4) nor a cache of Kernel Tuner"
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return badFile("", what)
	}
	var c cache
	found := false
	for dec.More() {
		m.parts.Next()
		key, err := dec.Token()
		if err != nil {
			return badFile("", "%v", err)
		}
		into := map[any]any{"device_name": &c.Device, "kernel_name": &c.Kernel, "problem_size": &c.Size,
			"sizes": &c.Sizes, "tune_params_keys": &c.Keys}[key]
		switch {
		case key == "results":
			found = true
			err = m.results(dec, &c)
		case key == "cache":
			found = true
			err = m.cached(dec, &c)
		case into != nil:
			err = dec.Decode(into)
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err := m.at("result", m.count.Trials+m.count.Already+1, err); err != nil {
			return err
		}
	}
	if !found {
		return badFile("", what)
	}
	return m.name()
}

// name names the session of a file that names none, after its content.
func (m *importer) name() error {
	i := m.sessions[""]
	if i == nil {
		return nil
	}
	done, err := m.batch.Rename(i.ID, hex.EncodeToString(m.content.Sum(nil)[:6]))
	if err != nil {
		return stored(err)
	}
	if !done {
		return errAlready
	}
	return nil
}

// results reads the results of T4.
func (m *importer) results(dec *json.Decoder, c *cache) error {
	return m.elements(dec, '[', func() error {
		var r t4Result
		if err := dec.Decode(&r); err != nil {
			return err
		}
		return m.result(&r, c)
	})
}

// elements calls f for each element of a list or an object.
func (m *importer) elements(dec *json.Decoder, open json.Delim, f func() error) error {
	if t, err := dec.Token(); err != nil || t != open {
		return fmt.Errorf("%q is expected", open.String())
	}
	for dec.More() {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		m.parts.Next()
		if err := f(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// result takes in one result.
func (m *importer) result(r *t4Result, c *cache) error {
	if r.Gridloom == nil {
		t, err := r.trial("")
		if err != nil {
			return err
		}
		return m.nameless(t, c)
	}
	t, err := r.trial(r.Gridloom.Head)
	if err != nil {
		return err
	}
	t.Index, t.Kernel, t.Code, t.Condition = r.Gridloom.Index, r.Gridloom.Kernel, r.Gridloom.Code, r.Gridloom.Condition
	if r.Gridloom.Info != nil {
		if err := m.session(r.Gridloom.Info); err != nil {
			return err
		}
	}
	return m.trial(r.Gridloom.Session, t)
}

// nameless takes in a trial of a file that names no session: they are one.
func (m *importer) nameless(t session.Trial, c *cache) error {
	if m.sessions[""] == nil {
		i := &session.Session{ID: "of a file that is being imported"}
		i.Strategy = session.Imported
		i.Started = t.At
		i.Program.Name, i.Device.Name = c.Kernel, c.Device
		if m.from.Program != "" {
			i.Program.Name = m.from.Program
		}
		if m.from.Device != "" {
			i.Device.Name = m.from.Device
		}
		if i.Program.Name == "" || i.Device.Name == "" {
			return badFile("give --program NAME and --device NAME",
				"the file does not say what was measured, or on what")
		}
		sum := sha256.Sum256([]byte("imported program " + i.Program.Name))
		i.Program.Hash = hex.EncodeToString(sum[:16])
		i.Sizes = c.sizes()
		if err := m.session(i); err != nil {
			return err
		}
		m.sessions[""] = i
	}
	t.Index = m.count.Trials
	return m.trial("", t)
}

// trial returns the trial that a result tells of.
func (r *t4Result) trial(head string) (session.Trial, error) {
	t := session.Trial{Config: r.Configuration.join(head), At: parseMoment(r.Timestamp)}
	compile := r.Times.CompilationTime
	if compile == nil {
		compile = r.Times.Compilation
	}
	if compile != nil {
		t.Compile = duration(*compile)
	}
	t.Measure, t.Other, t.Search, t.Validate = duration(r.Times.Benchmark), duration(r.Times.Framework),
		duration(r.Times.Search), duration(r.Times.Validation)
	for _, v := range r.Times.Runtimes {
		t.Samples = append(t.Samples, v/1e3)
	}
	n := slices.Index(t4Invalid[:], r.Invalidity)
	if n < 0 {
		return t, fmt.Errorf("there is no invalidity %q", r.Invalidity)
	}
	t.Verdict = verdict.Verdict(n)
	if r.Invalidity == "runtime" {
		t.Verdict = verdict.Crash
	}
	if r.Gridloom == nil {
		t.Median = middle(t.Samples)
	}
	for _, e := range r.Measurements {
		if err := take(&t, e, r.Objectives); err != nil {
			return t, err
		}
	}
	return t, nil
}

// take takes in one of the values that T4 has names for.
func take(t *session.Trial, e measurement, objectives []string) (err error) {
	number, _ := e.Value.(float64)
	text, _ := e.Value.(string)
	seconds := number * map[string]float64{"s": 1, "ms": 1e-3, "": 1e-3, "us": 1e-6, "ns": 1e-9}[e.Unit]
	switch e.Name {
	case "time_low":
		t.Low = seconds
	case "time_high":
		t.High = seconds
	case "registers":
		t.Resources.Registers = int(number)
	case "spills":
		t.Resources.Spills = int(number)
	case "shared":
		t.Resources.Shared = int(number)
	case "blocks":
		t.Resources.Blocks = int(number)
	case "occupancy":
		t.Resources.Occupancy = float32(number)
	case "error":
		t.Error = number
	case "verdict":
		t.Verdict, err = verdict.Parse(text)
	case "note":
		t.Note = text
	default:
		// Without a unit only what is called so is a time, in milliseconds.
		if t.Median == 0 && len(objectives) > 0 && e.Name == objectives[0] && (e.Unit != "" || e.Name == "time") {
			t.Median = seconds
		}
	}
	return err
}

// cached reads the trials of a cache of Kernel Tuner.
func (m *importer) cached(dec *json.Decoder, c *cache) error {
	if len(c.Keys) == 0 {
		return errors.New(`"tune_params_keys" should come before "cache"`)
	}
	return m.elements(dec, '{', func() error {
		if _, err := dec.Token(); err != nil { // the values of the parameters, joined
			return err
		}
		var e map[string]any
		if err := dec.Decode(&e); err != nil {
			return err
		}
		number := func(name string) float64 {
			v, _ := e[name].(float64)
			return v
		}
		r := t4Result{Objectives: []string{"time"}, Invalidity: "correct", Times: t4Times{
			Benchmark: number("benchmark_time"), Framework: number("framework_time"),
			Search: number("strategy_time"), Validation: number("verification_time")}}
		r.Timestamp, _ = e["timestamp"].(string)
		compile := number("compile_time")
		r.Times.CompilationTime = &compile
		times, _ := e["times"].([]any)
		for _, v := range times {
			if v, ok := v.(float64); ok {
				r.Times.Runtimes = append(r.Times.Runtimes, v)
			}
		}
		switch time := e["time"].(type) {
		case float64:
			r.Measurements = []measurement{{"time", time, "ms"}}
		case string:
			invalid, ok := map[string]string{"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime",
				"InvalidConfig": "constraints"}[time]
			if !ok {
				return fmt.Errorf("there is no failure %q", time)
			}
			r.Invalidity = invalid
			r.Measurements = []measurement{{"note", time, ""}}
		default:
			return errors.New("there is no time")
		}
		for _, key := range c.Keys {
			text, err := json.Marshal(e[key])
			if err != nil {
				return err
			}
			var one settings
			if err := one.UnmarshalJSON(fmt.Appendf(nil, "{%s:%s}", quote(key), text)); err != nil {
				return err
			}
			r.Configuration = append(r.Configuration, one...)
		}
		t, err := r.trial("")
		if err != nil {
			return err
		}
		return m.nameless(t, c)
	})
}

// middle returns the median, 0 of no samples.
func middle(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// parseMoment reads a time stamp; one that cannot be read is that of 1970.
func parseMoment(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Unix(0, 0).UTC()
}
