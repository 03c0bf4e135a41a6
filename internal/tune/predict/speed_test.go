package predict

import "testing"

// BenchmarkCandidates takes the time for the candidates of a kernel.
func BenchmarkCandidates(b *testing.B) {
	s := kernelSpace(b, "star-zyx-r2")
	for b.Loop() {
		Candidates(s, 1000)
	}
}
