package profile

// Hint is what to change about a kernel, with the evidence.
type Hint struct {
	Code string `json:"code"`
}
