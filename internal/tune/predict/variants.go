package predict

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// mostVariants bounds the descriptions of variants that are kept in memory: some 400 bytes each, and more than twice
// what is lowered to make the largest model and to judge it.
const mostVariants = 1 << 19

// described are descriptions of variants by the hash of their programs and configurations. To lower and count one
// takes some 40 ms.
type described struct {
	mutex  sync.Mutex
	rows   map[variantKey][]float64 // nil for what cannot be lowered
	read   map[variantKey]bool      // those of a file
	right  map[string]bool          // kernels of which one of these was made anew, and was the same
	made   int                      // so many are not written
	making singleflight.Group       // models that are learned side by side ask for the same ones
}

type variantKey [sha256.Size]byte

var lowered = described{rows: map[variantKey][]float64{}, right: map[string]bool{}}

// variants describes the variants that configurations of a kernel make (Variant), side by side. Of those that cannot be
// lowered, since a block has less memory than they take, there is no description.
func (k *Kernel) variants(ctx context.Context, list []schedule.Config) ([][]float64, error) {
	prefix := k.hashed()
	key := func(i int) variantKey { return sha256.Sum256(fmt.Appendf(nil, "%x %s", prefix, list[i])) }
	describe := func(i int) []float64 {
		row, err := k.Variant(list[i])
		if err != nil {
			return nil
		}
		return row
	}
	for i := range list {
		if same, done := lowered.check(string(prefix), key(i), func() []float64 { return describe(i) }); !same {
			return nil, fmt.Errorf("%s: %w", k.Name, errVariants)
		} else if done {
			break
		}
	}
	out := make([][]float64, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = lowered.of(key(i), func() []float64 { return describe(i) })
			}
		})
	}
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return out, context.Cause(ctx)
}

// of returns what is known of a key, or makes it: once, whoever asks meanwhile. Once there are too many, all are
// forgotten.
func (d *described) of(key variantKey, make func() []float64) []float64 {
	if row, ok := d.known(key); ok {
		return row
	}
	row, _, _ := d.making.Do(string(key[:]), func() (any, error) {
		if row, ok := d.known(key); ok { // another has just made it
			return row, nil
		}
		row := make()
		d.keep(key, row)
		return row, nil
	})
	return row.([]float64)
}

func (d *described) known(key variantKey) (row []float64, ok bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	row, ok = d.rows[key]
	return row, ok
}

func (d *described) keep(key variantKey, row []float64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(d.rows) >= mostVariants {
		clear(d.rows)
		clear(d.read)
	}
	d.rows[key] = row
	d.made++
}

// hashed is the hash of all that a variant depends on beside its configuration.
func (k *Kernel) hashed() []byte {
	h := sha256.New()
	p := k.Bound.Program
	io.WriteString(h, ir.Text(p))
	fmt.Fprintf(h, "%v %v %s %s %s", k.Bound.Params, p.Arithmetic, k.ID, k.Own.In(schedule.Config{}),
		k.Target.Dialect.Name)
	for _, s := range p.Scalars {
		fmt.Fprintf(h, " %v", k.Bound.Scalar(s))
	}
	json.NewEncoder(h).Encode(k.Target.Machine) // to a hash: never fails
	return h.Sum(nil)
}
