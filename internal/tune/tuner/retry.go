package tuner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// retryingLab is a Lab that retries transient failures of the machine: a full disk, or a process that was
// killed when memory ran out. If all retries fail, the search ends, since that says nothing of the variant.
type retryingLab struct {
	measure.Lab
	retrying sync.Mutex // held by the one caller that retries: others may use up what is short
	gaveUp   bool       // all retries of a call failed, which ends the search
	sleep    func(context.Context, time.Duration)
}

// retryDelays are the pauses before each retry.
var retryDelays = [...]time.Duration{200 * time.Millisecond, time.Second, 4 * time.Second}

func newRetryingLab(l measure.Lab) *retryingLab {
	return &retryingLab{Lab: l, sleep: func(ctx context.Context, d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}}
}

// retry calls f until it does not fail transiently, or until all retries are used. After a transient failure,
// the end of ctx, which may be the time limit of one variant, is not taken for a failure of the variant.
func (p *retryingLab) retry(ctx context.Context, f func() error) error {
	err := f()
	if verdict.Of(err) != verdict.Transient {
		return err
	}
	p.retrying.Lock()
	defer p.retrying.Unlock()
	if p.gaveUp {
		return fmt.Errorf("this machine could not: %w", err)
	}
	for _, d := range retryDelays {
		if p.sleep(ctx, d); ctx.Err() != nil {
			return err
		}
		switch next := f(); {
		case verdict.Of(next) == verdict.Transient:
			err = next
		case ctx.Err() != nil:
			return err
		default:
			return next
		}
	}
	p.gaveUp = true
	return fmt.Errorf("this machine could not, and was asked %d times: %w", 1+len(retryDelays), err)
}

// Fits implements measure.Lab.
func (p *retryingLab) Fits(s *exec.Script) error {
	return p.retry(context.Background(), func() error { return p.Lab.Fits(s) })
}

// Compile implements measure.Lab.
func (p *retryingLab) Compile(ctx context.Context, t measure.Text) (c measure.Compiled, err error) {
	err = p.retry(ctx, func() error {
		c, err = p.Lab.Compile(ctx, t)
		return err
	})
	return c, err
}

// Arrange implements measure.Lab.
func (p *retryingLab) Arrange(ctx context.Context, s measure.Setting) error {
	return p.retry(ctx, func() error { return p.Lab.Arrange(ctx, s) })
}

// Expect implements measure.Lab.
func (p *retryingLab) Expect(ctx context.Context, c measure.Code, fetch bool) (v measure.Values, err error) {
	err = p.retry(ctx, func() error {
		v, err = p.Lab.Expect(ctx, c, fetch)
		return err
	})
	return v, err
}

// Try implements measure.Lab.
func (p *retryingLab) Try(ctx context.Context, c measure.Code, m measure.Margins, r measure.Rule,
	limit time.Duration) (t measure.Trial, err error) {
	err = p.retry(ctx, func() error {
		t, err = p.Lab.Try(ctx, c, m, r, limit)
		return err
	})
	return t, err
}

// Batch implements measure.Lab.
func (p *retryingLab) Batch(ctx context.Context, c measure.Code, least time.Duration) (s float64, err error) {
	err = p.retry(ctx, func() error {
		s, err = p.Lab.Batch(ctx, c, least)
		return err
	})
	return s, err
}

// Copy implements measure.Lab.
func (p *retryingLab) Copy(ctx context.Context, bytes int64, least time.Duration) (s float64, err error) {
	err = p.retry(ctx, func() error {
		s, err = p.Lab.Copy(ctx, bytes, least)
		return err
	})
	return s, err
}
