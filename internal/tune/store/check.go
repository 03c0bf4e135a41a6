package store

import (
	"context"
	"fmt"
)

// Report is what Check has found.
type Report struct {
	Sessions int      `json:"sessions"`
	Trials   int      `json:"trials"`
	Problems []string `json:"problems"`
}

// Check reads everything and reports what is not as it should be.
func (s *Store) Check(ctx context.Context) (Report, error) {
	r := Report{Problems: []string{}}
	problem := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	for line, err := range s.lines(ctx, "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'") {
		if err != nil {
			return r, err
		}
		problem("%s", line)
	}
	for line, err := range s.lines(ctx, `SELECT printf('table %s, row %d: there is no row of %s that it names', "table", rowid, parent) FROM pragma_foreign_key_check`) {
		if err != nil {
			return r, err
		}
		problem("%s", line)
	}
	for line, err := range s.lines(ctx, fmt.Sprintf("SELECT printf('trial %%d belongs to no session', id) FROM trials WHERE id >> %d NOT IN (SELECT id FROM sessions)", indexBits)) {
		if err != nil {
			return r, err
		}
		problem("%s", line)
	}
	for _, err := range s.Sessions(ctx, Filter{}) {
		if err != nil {
			return r, err
		}
		r.Sessions++
	}
	for _, err := range s.Records(ctx, Filter{}) {
		if err != nil {
			problem("%v", err)
			break
		}
		r.Trials++
	}
	return r, nil
}
