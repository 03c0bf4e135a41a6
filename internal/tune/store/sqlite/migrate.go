package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

// application marks a database as a store ("GLom").
const application = 0x474C6F6D

//go:embed migrations/*.sql
var embedded embed.FS

// migrations returns the numbered scripts, of which the n-th makes a store of
// version n from one of version n-1.
func migrations(tree fs.FS) ([]string, error) {
	files, err := fs.Glob(tree, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var scripts []string
	for i, file := range files {
		var n int
		if _, err := fmt.Sscanf(file, "migrations/%04d_", &n); err != nil || n != i+1 {
			return nil, fmt.Errorf("%s: the number should be %04d", file, i+1)
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(text))
	}
	return scripts, nil
}

// version returns the version of a store, 0 for an empty database, and refuses
// databases that are no stores or that only a later Gridloom can read.
func version(ctx context.Context, q querier, latest int) (int, error) {
	var app, v, tables int
	err := q.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&app, &v, &tables)
	switch {
	case err != nil:
		return 0, err
	case app != application && (app != 0 || tables != 0):
		return 0, errOther
	case v > latest:
		return 0, newer(v, latest)
	}
	return v, nil
}

// migrate brings a store to the version of the last script. Processes that do
// so at once wait for each other, and either a script has run whole or not at all.
func migrate(ctx context.Context, db *sql.DB, scripts []string) error {
	if v, err := version(ctx, db, len(scripts)); err != nil || v == len(scripts) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v, err := version(ctx, tx, len(scripts)) // another process may have been faster
	if err != nil {
		return err
	}
	for ; v < len(scripts); v++ {
		if _, err := tx.ExecContext(ctx, scripts[v]); err != nil {
			return fmt.Errorf("migration %d: %w", v+1, err)
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", v+1)); err != nil {
			return fmt.Errorf("migration %d: %w", v+1, err)
		}
	}
	return tx.Commit()
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
