package storetest

import (
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/store"
)

// inMemory opens one store for each place.
func inMemory(wrap func(*Memory) store.Store) Open {
	var mu sync.Mutex
	places := map[string]*Memory{}
	return func(t *testing.T, place string) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if places[place] == nil {
			places[place] = NewMemory()
		}
		return wrap(places[place])
	}
}

func TestMemory(t *testing.T) {
	Conformance(t, inMemory(func(m *Memory) store.Store { return m }))
}
