// Package predict tells which configurations of a kernel will be fast before any was measured: models that have learned
// from the recordings of other programs rank what the kernel may have.
package predict
