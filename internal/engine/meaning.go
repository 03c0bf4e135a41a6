package engine

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Meaning returns a digest of all that a checked program means. It tells programs apart in
// the store and in checkpoints.
func Meaning(p *ir.Program) string { return Digest([]byte(canonical(p))) }

// canonical returns the text of all that a checked program means; comments, spaces and
// the file's name are no part of that, nor is the mode of arithmetic, so that p is the
// program before it is told one.
func canonical(p *ir.Program) string {
	nameless := *p.In(arith.Strict) // the mode is told apart by name
	nameless.Name = ""
	body := nameless.Body
	nameless.Body = nil
	for _, o := range body {
		if it, ok := o.(*ir.Iterate); ok && (graph.Loop{Iterate: it}).Single() {
			nameless.Body = append(nameless.Body, it.Body...) // as before there were sequences of one statement
			continue
		}
		nameless.Body = append(nameless.Body, o)
	}
	return ir.Text(&nameless)
}

// Digest returns the SHA-256 of a text in hexadecimal digits.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
