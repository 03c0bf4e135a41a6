package bench

import (
	"os"
	"testing"

	"github.com/gridloom/gridloom/internal/run/worker"
)

func TestMain(m *testing.M) {
	worker.Main(Service, CompileService)
	os.Exit(m.Run())
}
