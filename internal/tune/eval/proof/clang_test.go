package proof

import (
	"bytes"
	"os"
	"testing"
)

// The prelude is the one that printed CUDA is tested with.
func TestPrelude(t *testing.T) {
	want, err := os.ReadFile("../../../compile/emit/testdata/nvrtc.cuh")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(prelude, want) {
		t.Error("nvrtc.cuh is not the one of package emit: copy it from there")
	}
}
