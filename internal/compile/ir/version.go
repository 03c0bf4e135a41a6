package ir

// Version counts the definitions of the program IR. A new one begins where the
// text form changes, so that a text or its digest no longer says the same, or
// where a node comes to mean something else. A node that was never there before
// counts, too: what is built from programs that have it is not what was built.
//
//	1  sums take no products in
//	2  Fma is a node
const Version = 2
