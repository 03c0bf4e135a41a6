// Package learning judges how well models pick configurations for stencils that they have not seen: on recordings of
// kernels (gridloom record), and live on a device. Groups are left out, not rows: a stencil with all its types and
// sizes, or all stencils of a pattern. On recordings, models pick among the candidates that all kernels were recorded
// with, never among those that a search chose, and a pick's share is of the best that was recorded at all, those
// included. Live, they pick among all candidates.
package learning
