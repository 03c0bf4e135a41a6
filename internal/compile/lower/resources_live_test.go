package lower

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// set holds variables that are needed later.
type set = map[*kernel.Var]bool

// needed is what liveScan does, by the definition: it returns what is needed before
// statements, given what is after them, and the most at any place.
func needed(list []kernel.Stmt, after set) (set, int) {
	most := 0
	for i := len(list) - 1; i >= 0; i-- {
		now := maps.Clone(after)
		switch st := list[i].(type) {
		case *kernel.Let:
			delete(now, st.Var)
			now[st.Value.(*kernel.Ref).Var] = true
		case *kernel.If:
			first, a := needed(st.Then, after)
			second, b := needed(st.Else, after)
			most = max(most, a, b)
			now = maps.Clone(first)
			maps.Copy(now, second)
			now[st.Cond.(*kernel.Ref).Var] = true
		}
		after = now
		most = max(most, len(now))
	}
	return after, most
}

// branching draws statements, which read what stands before them or what is made
// anywhere in those before.
func branching(r *rand.Rand, depth int, known []*kernel.Var) ([]kernel.Stmt, []*kernel.Var) {
	var list []kernel.Stmt
	for n := range r.IntN(7) {
		value := kernel.V(known[r.IntN(len(known))])
		if depth > 0 && r.IntN(3) == 0 {
			then, _ := branching(r, depth-1, known)
			other, _ := branching(r, depth-1, known)
			list = append(list, &kernel.If{Cond: value, Then: then, Else: other})
			continue
		}
		v := known[r.IntN(len(known))] // some are computed by both sides, and needed after
		if r.IntN(3) > 0 {
			v = kernel.NewVar(fmt.Sprintf("v%d_%d", depth, n), types.F32)
			known = append(known, v)
		}
		list = append(list, &kernel.Let{Var: v, Value: value})
	}
	return list, known
}

// What is live is what is needed later on any way through branches.
func TestLiveBranches(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		known := []*kernel.Var{
			kernel.NewVar("a", types.F32), kernel.NewVar("b", types.F32), kernel.NewVar("c", types.F32),
		}
		body, _ := branching(r, 3, known)
		s := &liveScan{uniform: set{}}
		got := s.most(body)
		before, want := needed(body, set{})
		if got != int64(want) {
			t.Fatalf("seed %d: %d at once, want %d", seed, got, want)
		}
		if !maps.Equal(s.live, before) || s.weight != int64(len(before)) {
			t.Fatalf("seed %d: %d are needed from before, of weight %d, want %d",
				seed, len(s.live), s.weight, len(before))
		}
	}
}
