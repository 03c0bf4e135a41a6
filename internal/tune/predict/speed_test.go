package predict

import (
	"testing"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// BenchmarkCandidates takes the time for the candidates of a kernel.
func BenchmarkCandidates(b *testing.B) {
	s := kernelSpace(b, "star-zyx-r2")
	for b.Loop() {
		Candidates(s, 1000)
	}
}

// BenchmarkRank takes the time for ranking all candidates of a kernel.
func BenchmarkRank(b *testing.B) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		b.Fatal(err)
	}
	k, err := synth.FindKernel("star-zyx-r2")
	if err != nil {
		b.Fatal(err)
	}
	kernel := kernelsOf(b, "star", k.Source([3]int{256, 256, 256}, 1))[0]
	for b.Loop() {
		m.Rank(kernel)
	}
}
