// Package analysis states facts about a checked stencil program: its
// footprint, order and halo, operations, bytes and arithmetic intensity, reuse,
// dependences, which statements may share a loop over cells, and the roofline
// bound on a machine. It changes nothing and needs no sizes; where sizes turn a
// fact into a number it takes an ir.Binding.
//
// Terms are those of the papers that the project unites; each definition names
// its source. docs/analysis.md lists every fact with the field name under which
// explain --json prints it.
package analysis
