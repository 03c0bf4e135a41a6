// Package examples holds stencil programs from the literature, each a file of
// its own that gridloom runs as it stands.
package examples

import "embed"

// FS holds the programs as NAME.loom and the photograph that some of them read
// as data/photo.png.
//
//go:embed *.loom data/photo.png
var FS embed.FS
