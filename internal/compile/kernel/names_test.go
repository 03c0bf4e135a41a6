package kernel

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// firstFree is what names.take has to return, found by trying every number.
func firstFree(base string, taken map[string]bool) string {
	if !taken[base] {
		return base
	}
	root, count := base, 1
	if i := strings.LastIndexByte(base, '_'); i > 0 {
		if n, err := strconv.Atoi(base[i+1:]); err == nil && n > 1 {
			root, count = base[:i], n
		}
	}
	for count++; taken[root+"_"+strconv.Itoa(count)]; count++ {
	}
	return root + "_" + strconv.Itoa(count)
}

// Names are taken and released in any order, as scopes open and close, and each one is the first that is free.
func TestNamesAreTheFirstThatAreFree(t *testing.T) {
	bases := []string{"a", "a_2", "a_3", "a_1", "a_9", "a_2_2", "b_km1", "_2", "a_02", "b"}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 15))
		n, taken := newNames(), map[string]bool{}
		var held []string
		for step := range 300 {
			if len(held) > 0 && rnd.IntN(3) == 0 {
				i := rnd.IntN(len(held))
				n.release(held[i])
				delete(taken, held[i])
				held = append(held[:i], held[i+1:]...)
				continue
			}
			base := bases[rnd.IntN(len(bases))]
			if len(held) > 0 && rnd.IntN(2) == 0 {
				base = held[rnd.IntN(len(held))]
			}
			want := firstFree(base, taken)
			if got := n.take(base); got != want {
				t.Fatalf("seed %d, step %d: take(%q) = %q, want %q, with %v taken", seed, step, base, got, want, held)
			}
			taken[want] = true
			held = append(held, want)
		}
	}
}

// BenchmarkTidyNames joins two lists of as many values as a box of 9 by 9 by 9 points has.
func BenchmarkTidyNames(b *testing.B) {
	k := &Kernel{Name: "joined"}
	for range 2 {
		for i := range 1459 {
			name := "t"
			if i > 0 {
				name = "t_" + strconv.Itoa(i+1)
			}
			k.Body = append(k.Body, &Let{NewVar(name, types.I64), I(int64(i))})
		}
	}
	for b.Loop() {
		TidyNames(k)
	}
}
