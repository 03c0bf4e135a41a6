// Package gridio reads and writes grids: NumPy's .npy, raw cells, pictures
// (.png and .jpeg in, .png out) and ParaView's .vti with its .pvd index.
//
// Reading trusts nothing. [Open] compares what a header claims with the size
// of the file, with what the caller wants and with the memory it allows, and
// only then is anything allocated. Values are converted exactly or refused:
// a float64 file fills a float grid only if every value is a float.
//
// Writing leaves nothing half-done. [Write] fills a temporary file in the
// target's folder and renames it, so that a reader sees the old file or the
// new one, and a full disk leaves the old one.
package gridio
