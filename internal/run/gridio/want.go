package gridio

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Want says what a caller expects of a file. The zero value takes whatever
// the file holds.
type Want struct {
	Grid  string     // the grid's name, for messages; may be empty
	Type  types.Type // Invalid takes the file's own
	Shape []int      // nil takes the file's own
	Limit int64      // most bytes of memory that reading may take; 0 sets no limit
}

// grid names the grid in a message.
func (w Want) grid() string {
	if w.Grid == "" {
		return "the grid"
	}
	return "grid " + w.Grid
}

// checkShape compares the shape of a file with the wanted one. The file is
// said to hold its cells in words such as "cells" or "pixels (rows x columns)".
func (w Want) checkShape(shape []int, cells string) error {
	if w.Shape == nil || slices.Equal(w.Shape, shape) {
		return nil
	}
	text := fmt.Sprintf("it holds %s %s, but %s is %s", FormatShape(shape), cells, w.grid(), FormatShape(w.Shape))
	if len(shape) == 0 {
		text = fmt.Sprintf("it holds a single number, but %s is %s", w.grid(), FormatShape(w.Shape))
	}
	if len(shape) != len(w.Shape) {
		return refuse("%s: %s against %s", text, dimensions(shape), dimensions(w.Shape))
	}
	reversed := slices.Clone(shape)
	slices.Reverse(reversed)
	if slices.Equal(reversed, w.Shape) {
		return refuse("%s", text).hint("the axes seem to be reversed: the outermost, slowest-varying one comes first")
	}
	return refuse("%s", text)
}

func dimensions(shape []int) string {
	if len(shape) == 1 {
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", len(shape))
}

// checkLimit refuses what takes more memory than the caller allows.
func (w Want) checkLimit(bytes int64) error {
	if w.Limit > 0 && bytes > w.Limit {
		return refuse("reading it takes %s of memory, and the limit is %s", formatBytes(bytes), formatBytes(w.Limit))
	}
	return nil
}

// formatBytes prints a size with the largest unit that leaves it at least 1.
func formatBytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	x, u := float64(n)/1024, 0
	for x >= 1024 && u+1 < len(units) {
		x /= 1024
		u++
	}
	return fmt.Sprintf("%.4g %ciB", x, units[u])
}
