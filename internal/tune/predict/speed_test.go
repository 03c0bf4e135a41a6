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

// BenchmarkRank takes the time for drawing and ranking all candidates of a kernel.
func BenchmarkRank(b *testing.B) {
	m, k := modelAndKernel(b)
	for b.Loop() {
		m.Rank(k)
	}
}

// BenchmarkRankDrawn takes the time for ranking them once they are drawn.
func BenchmarkRankDrawn(b *testing.B) {
	m, k := modelAndKernel(b)
	list := k.Ranked()
	if len(list) < usualCandidates {
		b.Fatalf("%d candidates", len(list))
	}
	for b.Loop() {
		m.RankOf(k, list)
	}
}

func modelAndKernel(b *testing.B) (*Model, *Kernel) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		b.Fatal(err)
	}
	k, err := synth.FindKernel("star-zyx-r2")
	if err != nil {
		b.Fatal(err)
	}
	return m, kernelsOf(b, "star", k.Source([3]int{256, 256, 256}, 1))[0]
}
