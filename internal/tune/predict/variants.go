package predict

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// mostVariants bounds the descriptions of variants that are kept in memory: some 300 bytes each, and several times what
// is lowered to make a model.
const mostVariants = 1 << 17

// described are descriptions of variants by the hash of their programs and configurations. To lower and count one
// takes some 40 ms.
type described struct {
	mutex sync.Mutex
	rows  map[[sha256.Size]byte][]float64 // nil for what cannot be lowered
}

var lowered = described{rows: map[[sha256.Size]byte][]float64{}}

// variants describes the variants that configurations of a kernel make (Variant), side by side. Of those that cannot be
// lowered, since a block has less memory than they take, there is no description.
func (k *Kernel) variants(ctx context.Context, list []schedule.Config) ([][]float64, error) {
	prefix := k.hashed()
	out := make([][]float64, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = lowered.of(sha256.Sum256(fmt.Appendf(nil, "%x %s", prefix, list[i])), func() []float64 {
					row, err := k.Variant(list[i])
					if err != nil {
						return nil
					}
					return row
				})
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

// of returns what is known of a key, or makes it. Once there are too many, all are forgotten.
func (d *described) of(key [sha256.Size]byte, make func() []float64) []float64 {
	d.mutex.Lock()
	row, ok := d.rows[key]
	d.mutex.Unlock()
	if ok {
		return row
	}
	row = make()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(d.rows) >= mostVariants {
		clear(d.rows)
	}
	d.rows[key] = row
	return row
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
