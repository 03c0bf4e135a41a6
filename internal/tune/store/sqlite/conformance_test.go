package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Conformance(t, func(t *testing.T, place string) store.Store {
		t.Helper()
		return open(t, filepath.Join(place, "store.db"), Options{})
	})
}
