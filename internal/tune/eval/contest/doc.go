// Package contest puts the search of package tuner to the test. It records
// spaces of real programs exhaustively, as T4 files that grow from call to call,
// lets the tuner search the full spaces live, and replays the recordings with
// other strategies and many seeds.
package contest

import "embed"

// Sub-spaces that are recorded, as files of restrictions.
//
//go:embed spaces
var spaces embed.FS
