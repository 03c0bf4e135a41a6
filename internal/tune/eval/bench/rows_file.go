package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/run/disk"
)

// Rows of long measurements are kept one by one, so that the same command goes on where the last one ended.

// Keyed are rows that say what they measured.
type Keyed interface{ Key() string }

// ReadRows returns the rows that a command of gridloom has left in a file; none if there is no file.
func ReadRows[T any](path, command string) ([]T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows []T
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%s has no rows of %s: %w", path, command, err)
	}
	return rows, nil
}

// MergeRows puts rows among those that a file has, in the place of those that measured the same.
func MergeRows[T Keyed](path, command string, more []T, order func(a, b T) int) error {
	rows, err := ReadRows[T](path, command)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range more {
		known[r.Key()] = true
	}
	rows = append(slices.DeleteFunc(rows, func(r T) bool { return known[r.Key()] }), more...)
	slices.SortStableFunc(rows, order)
	out, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(path, append(out, '\n'), 0o644, true)
}

// readList reads a list of what is to be measured: JSON, with no fields but those that are known. The form is an
// example for the error.
func readList[T any](text []byte, what, form string) (list []T, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("a list of %s is JSON, %s: %w", what, form, err)
	}
	return list, nil
}

// allowance is the time for the rows of a list. Each is taken to need as long as the longest so far.
type allowance struct {
	budget  time.Duration // 0 for no end
	start   time.Time
	longest time.Duration
	log     io.Writer
}

func newAllowance(budget time.Duration, log io.Writer) *allowance {
	return &allowance{budget: budget, start: time.Now(), log: log}
}

// allows reports whether the next of so many rows would end in time, and says so if it would not.
func (a *allowance) allows(left int) bool {
	if a.budget == 0 || time.Since(a.start)+a.longest <= a.budget {
		return true
	}
	fmt.Fprintf(a.log, "%d rows are left: the same command goes on with them\n", left)
	return false
}

// MeasureEach measures what a list names, one after the other, and keeps each row when it is there. It begins none that
// would end after the budget, if there is one. What measure has no row for is left out. What fails does not keep the
// rest from being measured. Rows that are finished are returned with an error, too.
func MeasureEach[T, R any](ctx context.Context, list []T, budget time.Duration, log io.Writer, name func(T) string,
	measure func(T) (*R, error), keep func(R) error) ([]R, error) {
	var rows []R
	var failed []error
	allowed := newAllowance(budget, log)
	for i, x := range list {
		if ctx.Err() != nil {
			return rows, context.Cause(ctx)
		}
		if !allowed.allows(len(list) - i) {
			break
		}
		begin := time.Now()
		row, err := measure(x)
		if ctx.Err() != nil {
			return rows, context.Cause(ctx)
		}
		switch {
		case err != nil:
			err = fmt.Errorf("%s: %w", name(x), err)
			fmt.Fprintf(log, "  %v\n", err)
			failed = append(failed, err)
		case row == nil:
			fmt.Fprintf(log, "%s: this commit has measured it, or there is nothing to measure\n", name(x))
			continue
		default:
			rows = append(rows, *row)
			if err := keep(*row); err != nil {
				return rows, err
			}
		}
		allowed.spent(begin)
	}
	return rows, errors.Join(failed...)
}

// spent notes what a row has taken that was begun at a time.
func (a *allowance) spent(begin time.Time) { a.longest = max(a.longest, time.Since(begin)) }
