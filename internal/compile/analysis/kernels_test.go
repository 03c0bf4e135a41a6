package analysis

import (
	"fmt"
	"strings"
	"testing"
)

func haloText(halos []Halo) string {
	var parts []string
	for _, h := range halos {
		parts = append(parts, h.Axis+" "+h.Text())
	}
	return strings.Join(parts, ", ")
}

// summary prints the facts that the papers state.
func summary(s *CallFacts) string {
	var retime []string
	for _, h := range s.Homogeneous {
		if h.OK {
			retime = append(retime, fmt.Sprintf("%s %d/%d", h.Axis, h.Parts, h.Planes))
		} else {
			retime = append(retime, h.Axis+" no: "+h.Blocker)
		}
	}
	o := s.Ops
	return fmt.Sprintf("%d points, order %d, halo %s, corners %q, density %.4g, unique %q\n", s.Shape.Points,
		s.Shape.Order, haloText(s.Shape.Halo), strings.Join(s.Shape.Corners, ""), s.Shape.Density, s.Shape.Unique) +
		fmt.Sprintf("%v flops: %v add, %v mul, %v div, %v fma; %v compare, %v int\n", o.Flops(), o.Add, o.Mul, o.Div,
			o.FMA, o.Compare, o.Int) +
		fmt.Sprintf("%v loads, %v as written, %v stores; bytes %v, %v, %v; intensity %.4g, %.4g\n", s.Loads,
			s.LoadsAsWritten, s.Stores, s.Traffic.Compulsory, s.Traffic.ByGroup, s.Traffic.AsWritten,
			s.Intensity.Compulsory, s.Intensity.AsWritten) +
		"homogenizable " + strings.Join(retime, "; ")
}

// TestKernels holds the analysis against figures worked out by hand. For the
// first four those are Zhang and Mueller's: points and order of section 2,
// corner accesses of section 2.1, flops and memory references (loads + stores)
// of Table 4.
func TestKernels(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"7-point", sevenPoint, `
7 points, order 1, halo k 1, j 1, i 1, corners "", density 0.2593, unique ""
8 flops: 6 add, 2 mul, 0 div, 1 fma; 0 compare, 0 int
7 loads, 7 as written, 1 stores; bytes 16, 16, 64; intensity 0.5, 0.125
homogenizable k 7/3; j 7/3; i 7/3`},
		{"13-point", thirteenPoint, `
13 points, order 2, halo k 2, j 2, i 2, corners "", density 0.104, unique ""
15 flops: 12 add, 3 mul, 0 div, 2 fma; 0 compare, 0 int
13 loads, 13 as written, 1 stores; bytes 16, 16, 112; intensity 0.9375, 0.1339
homogenizable k 13/5; j 13/5; i 13/5`},
		// p is read at 20 places, 19 of them different, and 12 weights once. Each
		// line has one addition that takes no product, or the three of a
		// bracket, or both. A weight at the point times p beside it does not
		// split.
		{"himeno", himeno, `
19 points, order 1, halo k 1, j 1, i 1, corners "kji", density 0.7037, unique ""
32 flops: 20 add, 12 mul, 0 div, 8 fma; 0 compare, 0 int
31 loads, 32 as written, 1 stores; bytes 56, 56, 132; intensity 0.5714, 0.2424
homogenizable k no: a0[k][j][i] * p[k+1][j][i]; j no: a1[k][j][i] * p[k][j+1][i]; i no: a2[k][j][i] * p[k][j][i+1]`},
		{"27-point", twentySevenPoint, `
27 points, order 1, halo k 1, j 1, i 1, corners "kji", density 1, unique ""
30 flops: 26 add, 4 mul, 0 div, 3 fma; 0 compare, 0 int
27 loads, 27 as written, 1 stores; bytes 16, 16, 224; intensity 1.875, 0.1339
homogenizable k 27/3; j 27/3; i 27/3`},
		// 6 x 4 neighbours; before is read and written; 3*c[0] is done once. Of the
		// additions 2*now - before, + (3*c[0])*now and the three that add up the
		// sum's terms take a product; adding the sum does not.
		{"wave", wave, `
25 points, order 4, halo k 4, j 4, i 4, corners "", density 0.03429, unique ""
32 flops: 26 add, 6 mul, 0 div, 5 fma; 0 compare, 0 int
26 loads, 27 as written, 1 stores; bytes 12, 12, 112; intensity 2.667, 0.2857
homogenizable k 27/9; j 27/9; i 27/9`},
		// Statement by statement, add + mul, fused: mux1 2+4, 2; mux2 3+5, 3; muy1
		// 2+4, 2; r0 6+7, 3; r1 3+4, 1; out0 and out1 a division each, h*h being
		// done once. Loads as written 6+8+6+10+6; distinct 6 of mu, 4 of strx, 3
		// of stry, 1 of la, 4 of u0, 3 of u1. Bytes: strx and stry are small.
		{"elastic", elastic, `
6 points, order 2, halo k 0, j 2,0, i 2,1, corners "", density 0.5, unique ""
42 flops: 16 add, 24 mul, 2 div, 11 fma; 0 compare, 0 int
21 loads, 36 as written, 2 stores; bytes 48, 48, 304; intensity 0.875, 0.1382
homogenizable k 2/1; j no: stry[j] * muy1; i no: (2 * mux1 + la[k][j][i-1] * strx[i-1]) * (u0[k][j][i-2] - u0[k][j][i])`},
	} {
		p := program(t, c.source)
		got := "\n" + summary(Analyze(p, nil).Calls[0])
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
