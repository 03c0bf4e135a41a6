package cli

import (
	"time"

	"github.com/alecthomas/kong"
)

// noZeros refuses numbers that were given as 0 where that would count as not
// given: those of options without a default.
func noZeros(ctx *kong.Context) error {
	for _, p := range ctx.Path {
		f := p.Flag
		if f == nil || f.HasDefault || !f.Target.IsValid() {
			continue
		}
		switch f.Target.Interface().(type) {
		case int, int64, uint64, float64, time.Duration:
			if f.Target.IsZero() {
				return usage("--%s 0: it is more than 0", f.Name).
					hintf("leave it out, and it is as if there were no such option")
			}
		}
	}
	return nil
}
