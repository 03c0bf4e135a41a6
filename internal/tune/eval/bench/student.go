package bench

import "github.com/gridloom/gridloom/internal/tune/measure"

// Interval is a range that holds a true value with 95 % confidence.
type Interval = measure.Interval
