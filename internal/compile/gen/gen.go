// Package gen makes random programs, as source texts, from a seed: valid ones,
// over the whole language, whose values stay tame however often they run. They
// test everything behind the checker: two executions of one program must
// agree.
//
// A program is made top down. Families of grids that may change places (one
// type, shape and boundary), scalars and tables are declared; stencils are
// written statement by statement, each reading what is defined by then; calls,
// loops and exchanges follow. In two programs of five the families are alike:
// they have the same cells, but other types, and boundaries of their own at
// each end; the rows of several are read together, beyond their ends.
//
// Every real number in a grid stays within -limit and limit: expressions carry
// a bound on their magnitude, and what might grow is scaled or clipped where it
// is assigned. Integers wrap as they like.
//
// The maker keeps the rules of the language as it goes, all but those that
// need the checker's own inference of domains; Make asks the checker, and
// starts again with what follows from the seed if it finds fault.
package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Options shape the programs.
type Options struct {
	Size  int  // about how many statements stencils have together; 0 for 8
	Exact bool // no functions whose last bits differ between devices
	// Spans makes time loops whose iterations can share a kernel in most programs. Parameters
	// say how many iterations they have.
	Spans bool
}

// Case is one random program.
type Case struct {
	Seed    uint64
	Source  string
	Program *ir.Program
	// Sets are values for the parameters and arguments with which the program
	// binds: small sizes first, a size 1 and primes among them, and in the end
	// more than three tiles of 16 and a remainder.
	Sets []map[string]string
}

// attempts bounds the number of programs that are thrown away.
const attempts = 50

// Make returns the program of a seed.
func Make(seed uint64, o Options) (*Case, error) {
	if o.Size <= 0 {
		o.Size = 8
	}
	var last error
	for try := range uint64(attempts) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, try)), o: o}
		source := m.program()
		p, diags := lang.Load(diag.NewSource(name(seed), source))
		if p == nil {
			last = fmt.Errorf("%s\n%s", first(diags), source)
			continue
		}
		c := &Case{Seed: seed, Source: source, Program: p, Sets: m.sets(p)}
		if len(c.Sets) == 0 {
			last = fmt.Errorf("no sizes fit\n%s", source)
			continue
		}
		return c, nil
	}
	return nil, fmt.Errorf("seed %d: after %d programs: %w", seed, attempts, last)
}

func name(seed uint64) string { return fmt.Sprintf("random%d.loom", seed) }

func first(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Message
		}
	}
	return ""
}

// maker writes one program.
type maker struct {
	*rand.Rand
	o Options

	axes     []string
	params   []string // by axis; axes may share one
	alike    []dim    // what all grids with every axis have, or nil if they differ
	words    []string // declared names, for no name twice
	families []*family
	scalars  []*scalar
	tables   []*table
	stencils []*stencil
	loops    int      // iterates around the step that is made
	counts   []string // parameters that say how many iterations loops have
	text     strings.Builder
}

func (m *maker) line(format string, args ...any) {
	fmt.Fprintf(&m.text, format+"\n", args...)
}

// chance is true once in n times.
func (m *maker) chance(n int) bool { return m.IntN(n) == 0 }

// pick returns one of several things.
func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// Names that are words of the language elsewhere are names all the same.
var odd = []string{"in", "until", "check", "each", "low", "high", "mirror", "clamp", "color", "initial", "on"}

// name makes a name that is not taken.
func (m *maker) name(base string) string {
	n := base
	if m.chance(12) {
		n = pick(m, odd...)
	}
	for i := 2; m.taken(n); i++ {
		n = fmt.Sprintf("%s%d", base, i)
	}
	m.words = append(m.words, n)
	return n
}

func (m *maker) taken(n string) bool {
	for _, w := range m.words {
		if w == n {
			return true
		}
	}
	return false
}

func (m *maker) program() string {
	m.declare()
	for budget := m.o.Size; budget > 0; {
		s := m.stencil(budget)
		m.stencils = append(m.stencils, s)
		budget -= s.statements
	}
	m.initial()
	for _, s := range m.stencils {
		m.text.WriteString(s.text)
	}
	m.steps()
	m.copies()
	return m.text.String()
}
