package tuner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// persistent is a Lab that tries again what the machine could not just now: a
// disk was full, or something was killed when memory ran out. What fails every
// time ends the search, since it says nothing of the variant.
type persistent struct {
	measure.Lab
	alone sync.Mutex // one at a time tries again: what lacks may be what others take
	over  bool       // something has failed every time, which ends the search
	pause func(context.Context, time.Duration)
}

// pauses are made before each time that something is tried again.
var pauses = [...]time.Duration{200 * time.Millisecond, time.Second, 4 * time.Second}

func newPersistent(l measure.Lab) *persistent {
	return &persistent{Lab: l, pause: func(ctx context.Context, d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}}
}

// again calls f until it does not meet a passing failure, or has too often. Once
// it has met one, the end of ctx, which may be the limit of one variant, is not
// taken for a failure of the variant.
func (p *persistent) again(ctx context.Context, f func() error) error {
	err := f()
	if refusal.Of(err) != refusal.Transient {
		return err
	}
	p.alone.Lock()
	defer p.alone.Unlock()
	if p.over {
		return fmt.Errorf("this machine could not: %w", err)
	}
	for _, d := range pauses {
		if p.pause(ctx, d); ctx.Err() != nil {
			return err
		}
		switch next := f(); {
		case refusal.Of(next) == refusal.Transient:
			err = next
		case ctx.Err() != nil:
			return err
		default:
			return next
		}
	}
	p.over = true
	return fmt.Errorf("this machine could not, and was asked %d times: %w", 1+len(pauses), err)
}

// Fits implements measure.Lab.
func (p *persistent) Fits(s *exec.Script) error {
	return p.again(context.Background(), func() error { return p.Lab.Fits(s) })
}

// Compile implements measure.Lab.
func (p *persistent) Compile(ctx context.Context, t measure.Text) (c measure.Compiled, err error) {
	err = p.again(ctx, func() error {
		c, err = p.Lab.Compile(ctx, t)
		return err
	})
	return c, err
}

// Arrange implements measure.Lab.
func (p *persistent) Arrange(ctx context.Context, s measure.Setting) error {
	return p.again(ctx, func() error { return p.Lab.Arrange(ctx, s) })
}

// Expect implements measure.Lab.
func (p *persistent) Expect(ctx context.Context, c measure.Code, fetch bool) (v measure.Values, err error) {
	err = p.again(ctx, func() error {
		v, err = p.Lab.Expect(ctx, c, fetch)
		return err
	})
	return v, err
}

// Try implements measure.Lab.
func (p *persistent) Try(ctx context.Context, c measure.Code, m measure.Margins, r measure.Rule, limit time.Duration) (t measure.Trial, err error) {
	err = p.again(ctx, func() error {
		t, err = p.Lab.Try(ctx, c, m, r, limit)
		return err
	})
	return t, err
}

// Batch implements measure.Lab.
func (p *persistent) Batch(ctx context.Context, c measure.Code, least time.Duration) (s float64, err error) {
	err = p.again(ctx, func() error {
		s, err = p.Lab.Batch(ctx, c, least)
		return err
	})
	return s, err
}

// Copy implements measure.Lab.
func (p *persistent) Copy(ctx context.Context, bytes int64, least time.Duration) (s float64, err error) {
	err = p.again(ctx, func() error {
		s, err = p.Lab.Copy(ctx, bytes, least)
		return err
	})
	return s, err
}
