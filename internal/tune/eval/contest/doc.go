// Package contest evaluates the search of package tuner. It records spaces of real programs exhaustively, as T4
// files that grow from call to call, runs the tuner on the full spaces live, and replays the recordings with several
// strategies and many seeds.
package contest

import "embed"

// Sub-spaces that are recorded, as files of restrictions.
//
//go:embed spaces
var spaces embed.FS
