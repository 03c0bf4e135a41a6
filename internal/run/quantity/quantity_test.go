package quantity

import (
	"math"
	"math/big"
	"testing"
)

func TestTexts(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, c := range []struct{ got, want string }{
		{Time(61.5), "61.50 s"}, {Time(1), "1.000 s"}, {Time(0.99999), "1.000 s"}, {Time(3.284e-4), "328.4 µs"},
		{Time(6e-3), "6.000 ms"},
		{Time(1.5e-10), "0.1500 ns"}, {Time(0), "0 ns"}, {Time(12345), "12345 s"}, {Time(9.99996e-3), "10.00 ms"},
		{Digits(0.41051, 4), "0.4105"}, {Digits(1000, 4), "1000"}, {Digits(9.99996, 4), "10.00"},
		{Digits(-2.5, 2), "-2.5"}, {Digits(0.99996, 4), "1.000"},
		{Digits(math.NaN(), 4), "NaN"}, {Digits(123456, 4), "123456"},
		{Percent(0.4123), "41.2 %"}, {Share(0.4123), "41 %"}, {Share(0.001), "< 1 %"}, {Share(0), "0 %"},
		{Whole(0), "0"}, {Whole(999), "999"}, {Whole(1000), "1,000"}, {Whole(int64(-1234567)), "-1,234,567"},
		{Whole(-12), "-12"}, {Whole(-123), "-123"},
		{Big(huge), "123,456,789,012,345,678,901,234,567,890"},
		{Count(1, "kernel"), "1 kernel"}, {Count(0, "kernel"), "0 kernels"},
		{Count(int64(16169), "cell"), "16,169 cells"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
