package proof

import (
	"context"
)

// jury is the programs from outside that judge a sample of the pairs.
type jury struct {
	missing []string
}

func newJury(context.Context) (*jury, error) { return &jury{}, nil }

func (j *jury) close() {}

func (j *jury) judge(context.Context, *pair, sizes, bool, *verdict) string { return "" }
