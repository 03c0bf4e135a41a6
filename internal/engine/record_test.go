package engine

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// A recording of the device and the present versions is there; one of earlier versions is made anew; one of another
// device, and a file that is none, are refused.
func TestRecorded(t *testing.T) {
	job := paperJob(t, "h200", twoKernels)
	d := measure.DeviceOf(job.Device.Target)
	now := versions.Current()
	write := func(name, api string, set versions.Set) string {
		path := filepath.Join(t.TempDir(), "a.jsonl.gz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z := gzip.NewWriter(f)
		fmt.Fprintf(z, "{\"gridloom\":\"results\",\"version\":3}\n{\"session\":{\"device\":{\"api\":%q,\"name\":%q},"+
			"\"arithmetic\":%d,\"ir\":%d}}\n", api, name, set.Arithmetic, set.IR)
		z.Close()
		return path
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want bool
		err  string
	}{
		{write(d.Name, d.API, now), true, ""},
		{write(d.Name, d.API, versions.Set{Arithmetic: 1, IR: 1}), false, ""},
		{write("Another", d.API, now), false, "it was recorded on Another"},
		{write(d.Name, "opencl", now), false, "it was recorded on"},
		{text, false, "it is no recording"},
		{filepath.Join(t.TempDir(), "none"), false, ""},
	} {
		r := RecordRequest{Device: job.Device, Path: c.path}
		got, err := r.Recorded()
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v, %v; not %v, %q", got, err, c.want, c.err)
		}
	}
}
