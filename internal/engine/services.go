package engine

import (
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Services are those of the workers that the engine starts. Programs give them to
// worker.Main first thing in main.
func Services() []worker.Service {
	return append(target.Services(), exec.Service, measure.Service)
}
