// Package lang reads the stencil language: source text to tokens to a syntax
// tree (Parse), the tree to a checked program (Check), and the text to its
// canonical form (Format). It accepts any bytes and answers with diagnostics;
// docs/language.md is the reference for users.
package lang
