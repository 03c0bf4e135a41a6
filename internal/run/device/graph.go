package device

// Recorder is a Device that can carry out many launches at the cost of few:
// programs whose launches are short are bound by their number otherwise.
type Recorder interface {
	Device
	// Record calls f and keeps the launches that it makes, in their order,
	// instead of carrying them out.
	Record(f func() error) (Graph, error)
}

// Graph is a run of launches with what their arguments held when they were
// recorded.
type Graph interface {
	// Launch carries all of them out, one after the other. It may return before
	// they have finished.
	Launch() error
	// Update gives launch i the values that its arguments hold now. Its buffers
	// stay those that were recorded.
	Update(i int) error
	// Close forgets the graph. What it has launched goes on.
	Close() error
}
