package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// A recording of the device and the present versions is there if it is whole; one of earlier versions is made anew; one
// of another device, one that is damaged, and a file that is none, are refused.
func TestRecorded(t *testing.T) {
	job := paperJob(t, "h200", twoKernels)
	d := measure.DeviceOf(job.Device.Target)
	now := versions.Current()
	file := func(content []byte) string {
		path := filepath.Join(t.TempDir(), "a.jsonl.gz")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	compressed := func(lines ...string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for _, l := range lines {
			fmt.Fprintln(z, l)
		}
		z.Close()
		return b.Bytes()
	}
	const first = `{"gridloom":"results","version":3}`
	session := func(name, api string, set versions.Set) string {
		return fmt.Sprintf(`{"session":{"id":"1","device":{"api":%q,"name":%q},"arithmetic":%d,"ir":%d}}`,
			api, name, set.Arithmetic, set.IR)
	}
	trial := func(index int) string {
		return fmt.Sprintf(`{"trial":{"session":"1","index":%d,"config":"a=1","verdict":"ok","median":%d}}`, index, index+1)
	}
	write := func(name, api string, set versions.Set) string {
		return file(compressed(first, session(name, api, set), trial(0), trial(1)))
	}
	here := session(d.Name, d.API, now)
	whole := compressed(first, here, trial(0), trial(1))
	wrong := bytes.Clone(whole)
	wrong[len(wrong)-5] ^= 1 // the checksum
	for _, c := range []struct {
		path string
		want bool
		err  string
	}{
		{write(d.Name, d.API, now), true, ""},
		{write(d.Name, d.API, versions.Set{Arithmetic: 1, IR: 1}), false, ""},
		{write("Another", d.API, now), false, "it was recorded on Another"},
		{write(d.Name, "opencl", now), false, "it was recorded on"},
		{file([]byte("text")), false, "it is no recording"},
		{file(compressed(first)), false, "it is no recording"},
		{filepath.Join(t.TempDir(), "none"), false, ""},
		{file(whole[:len(whole)-1]), false, "the recording is damaged: line 5: the file ends too early (copy it anew"},
		{file(whole[:len(whole)-20]), false, "the recording is damaged"},
		{file(wrong), false, "the recording is damaged: line 5: gzip: invalid checksum"},
		{file(append(whole, "more"...)), false, "the recording is damaged"},
		{file(compressed(first, here, trial(0), trial(1)[:30])), false,
			"the recording is damaged: line 4: invalid character"},
		{file(compressed(first, here, trial(0), `{"trial":{"session":"2","index":1,"config":"a=1"}}`)), false,
			`the recording is damaged: line 4: a trial of session "2", of which the file has not spoken`},
		{file(compressed(first, here)), false, "the recording is damaged: it has no trial"},
		{file(compressed(`{"gridloom":"other","version":3}`, here, trial(0))), false, "the recording is damaged"},
	} {
		r := RecordRequest{Device: job.Device, Path: c.path}
		got, err := r.Recorded(t.Context())
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v, %v; not %v, %q", got, err, c.want, c.err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r := RecordRequest{Device: job.Device, Path: write(d.Name, d.API, now)}
	if _, err := r.Recorded(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("an end of the reader's work is %v", err)
	}
}
