package predict

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A file keeps what was made of variants. Where today's compiler makes another of them, the work is not done, and the
// file stays.
func TestKeepVariants(t *testing.T) {
	k := recordings(t, 1, "star-zyx-r3")[0].Kernel
	configs := Candidates(k.Space, 5)
	path := filepath.Join(t.TempDir(), "variants.gob.gz")
	saved := 0
	save := func(write func() error) error {
		saved++
		return write()
	}
	describe := func() ([][]float64, error) {
		var rows [][]float64
		err := KeepVariants(path, save, func() (err error) {
			rows, err = k.variants(t.Context(), configs)
			return err
		})
		return rows, err
	}
	forget := func() { lowered = described{rows: map[variantKey][]float64{}, right: map[string]bool{}} }
	forget()
	defer forget()
	before, err := describe()
	if err != nil || len(before) != len(configs) || before[0] == nil || saved != 1 {
		t.Fatalf("%v, saved %d times, %v", before, saved, err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	forget()
	after, err := describe()
	if err != nil || !reflect.DeepEqual(after, before) || len(lowered.read) != len(configs) || lowered.made != 0 {
		t.Errorf("%d of the file, %d made beside: %v, %v", len(lowered.read), lowered.made, after, err)
	}
	for key := range lowered.rows {
		lowered.rows[key] = []float64{1}
	}
	lowered.made = 1
	interrupted := errors.New("interrupted")
	if err := KeepVariants(path, save, func() error { return interrupted }); !errors.Is(err, interrupted) {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(path)
	if err != nil || bytes.Equal(changed, written) {
		t.Fatalf("what was changed is not written: %v", err)
	}
	forget()
	_, err = describe()
	if !errors.Is(err, errVariants) || !strings.Contains(err.Error(), path) {
		t.Errorf("variants of another compiler: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, changed) {
		t.Errorf("the file is another: %v", err)
	}
	for _, broken := range [][]byte{nil, []byte("no archive"), written[:len(written)/2]} {
		if err := os.WriteFile(path, broken, 0o666); err != nil {
			t.Fatal(err)
		}
		forget()
		if _, err := describe(); err == nil || !strings.Contains(err.Error(), "no variants of Gridloom's") {
			t.Errorf("a broken file of %d bytes: %v", len(broken), err)
		}
	}
}
