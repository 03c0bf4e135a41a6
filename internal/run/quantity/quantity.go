// Package quantity writes figures with their units, the same wherever a user
// reads them.
package quantity

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Time writes seconds with four digits in a fitting unit: "328.4 µs".
func Time(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}} {
		if seconds >= 0.99995*u.size || u.size == 1e-9 {
			return Digits(seconds/u.size, 4) + " " + u.name
		}
	}
	panic("unreachable")
}

// Digits writes a number with so many digits, those that are zero at its end
// among them, and at least its whole part: "6.000", "12345".
func Digits(v float64, digits int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	whole := int(math.Floor(math.Log10(math.Abs(v)) + 1e-12))
	text := strconv.FormatFloat(v, 'f', max(0, digits-1-whole), 64)
	if after := strings.TrimLeft(strings.ReplaceAll(text, ".", ""), "-0"); len(after) > digits &&
		strings.Contains(text, ".") {
		text = text[:len(text)-1] // 9.9996 has become 10.000
	}
	return strings.TrimSuffix(text, ".")
}

// Percent writes a part of 1: "41.2 %".
func Percent(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }

// Share writes a part of 1 in whole percents, and says so where there is
// something, but less.
func Share(part float64) string {
	if part > 0 && part < 0.005 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// Whole writes a whole number with commas between thousands: "12,345".
func Whole[N int | int64](n N) string { return Big(big.NewInt(int64(n))) }

// Big is Whole for numbers of any size.
func Big(n *big.Int) string {
	digits := n.String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), ",")
}

// Count writes how many things there are: "1 kernel", "1,200 cells".
func Count[N int | int64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Whole(n) + " " + word + "s"
}

// Ticks returns round values from low to high, at most so many, evenly spaced.
func Ticks(low, high float64, most int) []float64 {
	if !(low < high) || math.IsInf(high-low, 0) || most < 1 {
		return []float64{low}
	}
	power := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most))))
	for _, k := range []float64{1, 2, 5, 10, 20} {
		step := k * power
		first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
		if last-first+1 > float64(most) {
			continue
		}
		list := []float64{}
		for n := first; n <= last; n++ {
			list = append(list, n*step)
		}
		return list
	}
	return []float64{low}
}
