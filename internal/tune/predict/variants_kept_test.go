package predict

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
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
		err := KeepVariants(t.Context(), path, save, func() (err error) {
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
	if err := KeepVariants(t.Context(), path, save, func() error { return interrupted }); !errors.Is(err, interrupted) {
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

// What was made is written when the context ends, though the work goes on: a process may be ended before the work is.
func TestKeepVariantsInterrupted(t *testing.T) {
	k := recordings(t, 1, "star-zyx-r3")[0].Kernel
	configs := Candidates(k.Space, 5)
	path := filepath.Join(t.TempDir(), "variants.gob.gz")
	forget := func() { lowered = described{rows: map[variantKey][]float64{}, right: map[string]bool{}} }
	forget()
	defer forget()
	ctx, interrupt := context.WithCancel(t.Context())
	written := make(chan struct{})
	early := filepath.Join(t.TempDir(), "early")
	saved := 0
	save := func(write func() error) error {
		saved++
		err := write()
		if saved == 1 {
			close(written)
		}
		return err
	}
	err := KeepVariants(ctx, path, save, func() error {
		if _, err := k.variants(ctx, configs[:3]); err != nil {
			return err
		}
		interrupt()
		<-written
		if err := os.Rename(path, early); err != nil {
			return err
		}
		_, err := k.variants(t.Context(), configs) // some work does not see that it is to end
		return errors.Join(err, ctx.Err())
	})
	if !errors.Is(err, context.Canceled) || saved != 2 {
		t.Fatalf("saved %d times, %v", saved, err)
	}
	for file, want := range map[string]int{early: 3, path: len(configs)} {
		forget()
		if err := lowered.readFile(file); err != nil || len(lowered.read) != want {
			t.Errorf("%s: %d of %d variants, %v", file, len(lowered.read), want, err)
		}
	}
}

// Models that are learned side by side ask for the same variants at once: each is made once.
func TestVariantsAreMadeOnce(t *testing.T) {
	d := described{rows: map[variantKey][]float64{}}
	var made atomic.Int32
	begun, all := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	ask := func(make func() []float64) {
		wg.Go(func() {
			if row := d.of(variantKey{1}, make); len(row) != 1 || row[0] != 7 {
				t.Errorf("%v", row)
			}
		})
	}
	describe := func() []float64 {
		if made.Add(1) == 1 {
			close(begun)
			<-all
		}
		return []float64{7}
	}
	ask(describe)
	<-begun
	for range 8 {
		ask(describe)
	}
	close(all)
	wg.Wait()
	if n := made.Load(); n != 1 || d.made != 1 {
		t.Errorf("made %d times, %d to write", n, d.made)
	}
	if row := d.of(variantKey{2}, func() []float64 { return nil }); row != nil { // cannot be lowered
		t.Errorf("%v", row)
	}
}
