package worker

import "github.com/gridloom/gridloom/internal/run/child"

// Death is the end of a worker that was still needed.
type Death = child.Death
