package cli

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// filterFlags say which variants are meant.
type filterFlags struct {
	Session    string   `group:"which" help:"Of the session whose name begins so." placeholder:"ID"`
	Program    string   `group:"which" help:"Of programs whose names hold this, or whose hashes begin so." placeholder:"NAME"`
	Device     string   `group:"which" short:"d" help:"On devices whose names hold this, or cuda, opencl or cpu." placeholder:"NAME"`
	Sizes      string   `group:"which" help:"With these sizes, all of them as they are listed: L=512,M=512,N=512." placeholder:"SIZES" sep:"none"`
	DType      string   `group:"which" name:"dtype" help:"With cells of this type." placeholder:"TYPE"`
	Arithmetic int      `group:"which" help:"Measured under this version of the arithmetic." placeholder:"N"`
	Strategy   string   `group:"which" help:"Of searches by this strategy." placeholder:"NAME"`
	Kernel     string   `group:"which" help:"Of this kernel, as in heat[0:1]." placeholder:"NAME"`
	Verdict    []string `group:"which" help:"With these verdicts: ok, constraint, resources, compiler, launch, timeout, crash, wrong, or refused for all but ok." placeholder:"VERDICT"`
	Since      string   `group:"which" help:"Since then: 2026-01-31, 2026-01-31T12:00:00Z, or so long ago: 90m, 24h, 7d." placeholder:"TIME"`
	Until      string   `group:"which" help:"Before then." placeholder:"TIME"`
}

// filter reads the options.
func (c *filterFlags) filter(now time.Time) (store.Filter, error) {
	f := store.Filter{
		Session: c.Session, Program: c.Program, Device: c.Device, Sizes: c.Sizes, DType: c.DType,
		Strategy: c.Strategy, Kernel: c.Kernel,
	}
	if f.Arithmetic = c.Arithmetic; c.Arithmetic < 0 {
		return f, usage("--arithmetic %d: a version is positive", c.Arithmetic)
	}
	for _, name := range c.Verdict {
		if name == "refused" {
			for v := verdict.OK + 1; v <= verdict.Wrong; v++ {
				f.Verdict = append(f.Verdict, v)
			}
			continue
		}
		v, err := verdict.Parse(name)
		if err != nil {
			return f, usage("--verdict: %s", err).hintf("there are %s and refused", strings.Join(verdict.Names(), ", "))
		}
		f.Verdict = append(f.Verdict, v)
	}
	for _, e := range []struct {
		option, text string
		to           *time.Time
	}{{"--since", c.Since, &f.Since}, {"--until", c.Until, &f.Until}} {
		if e.text == "" {
			continue
		}
		t, ok := parseWhen(e.text, now)
		if !ok {
			return f, usage("%s %s: write a day (2026-01-31), a moment (2026-01-31T12:00:00Z), "+
				"or how long ago (90m, 24h, 7d)", e.option, e.text)
		}
		*e.to = t
	}
	return f, nil
}

// parseWhen reads a moment, or how long it is ago.
func parseWhen(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return now.AddDate(0, 0, -n), err == nil && n >= 0
	}
	ago, err := time.ParseDuration(text)
	return now.Add(-ago), err == nil && ago >= 0
}

// bestVariants returns the fastest variant of each kernel in each scenario, in the
// order in which scenarios came up. Versions are not mixed: where only current ones are
// wanted, variants of others are passed over and counted.
func bestVariants(records iter.Seq2[store.Record, error], current bool, passed *int) iter.Seq2[store.Record, error] {
	type scenario struct {
		program, api, device, sizes, dtype, fp, cluster, kernel string
		versions.Set
	}
	return func(yield func(store.Record, error) bool) {
		known := map[scenario]*store.Knowledge{}
		var order []scenario
		for r, err := range records {
			if err != nil {
				yield(r, err)
				return
			}
			i := r.Session
			if current && !i.IsCurrent() {
				*passed++
				continue
			}
			s := scenario{
				i.Program.Hash, i.Device.API, i.Device.String(), i.Sizes.String(), i.DType, i.FP,
				fmt.Sprint(i.Cluster), r.Kernel, i.Set,
			}
			if known[s] == nil {
				known[s] = &store.Knowledge{}
				order = append(order, s)
			}
			known[s].Learn(r)
		}
		for _, s := range order {
			if r, ok := known[s].Best(s.kernel); ok && !yield(r, nil) {
				return
			}
		}
	}
}

// lastVariants returns the last n.
func lastVariants(records iter.Seq2[store.Record, error], n int) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var ring []store.Record
		at := 0
		for r, err := range records {
			switch {
			case err != nil:
				yield(r, err)
				return
			case len(ring) < n:
				ring = append(ring, r)
			default:
				ring[at] = r
				at = (at + 1) % n
			}
		}
		for i := range ring {
			if !yield(ring[(at+i)%len(ring)], nil) {
				return
			}
		}
	}
}
