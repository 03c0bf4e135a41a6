package quantity

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a float64 that JSON can always hold: what is not finite is text.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(fmt.Sprint(f))
	}
	return json.Marshal(float64(n))
}
