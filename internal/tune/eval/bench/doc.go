// Package bench measures the project's own figures: generated code against
// what people would write by hand, and against the machine's copy bound, in one
// run on one machine. Each suite returns rows that are written as JSON under
// bench/results; every figure in the documents comes from such a file.
package bench

import "embed"

//go:embed cases nests plans
var files embed.FS
