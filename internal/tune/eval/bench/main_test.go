package bench

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	loops "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	worker.Main(append(target.Services(), loops.Service, Service, CompileService)...)
	status := m.Run()
	if remove, _ := install(); remove != nil {
		remove()
	}
	os.Exit(status)
}

// wanted is set when a test needs the pretended GPU.
var wanted bool

var install = sync.OnceValues(func() (func(), error) {
	if !wanted {
		return nil, nil
	}
	return cudatest.Install()
})

// pretend lets the suites find a pretended GPU, whose code a processor runs:
// everything but the figures is as on a real one.
func pretend(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("no C++ compiler")
	}
	wanted = true
	if _, err := install(); err != nil {
		t.Fatal(err)
	}
}
