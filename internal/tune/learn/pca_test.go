package learn

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Components are as long as 1 and at right angles, examples have their variances along them and nothing in common
// between two, and no fewer have the share.
func TestPCA(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := someTable(t)
		share := rapid.SampledFrom([]float64{0.5, 0.95, 1}).Draw(t, "share")
		c, err := NewPCA(table, share)
		if err != nil {
			t.Fatal(err)
		}
		n := len(c.Directions)
		moments := make([][]float64, n)
		for i := range moments {
			moments[i] = make([]float64, n)
		}
		for _, row := range table.Rows {
			at := c.Project(row)
			for i := range n {
				for j := range n {
					moments[i][j] += at[i] * at[j] / float64(len(table.Rows)-1)
				}
			}
		}
		for i := range n {
			for j := range n {
				angle, moment := 0.0, 0.0
				if i == j {
					angle, moment = 1, c.Variances[i]
				}
				if d := dot(c.Directions[i], c.Directions[j]); math.Abs(d-angle) > 1e-9 {
					t.Fatalf("directions %d and %d have the product %v", i, j, d)
				}
				if math.Abs(moments[i][j]-moment) > 1e-8 {
					t.Fatalf("along %d and %d examples have %v, not %v", i, j, moments[i][j], moment)
				}
			}
			if i > 0 && c.Variances[i] > c.Variances[i-1]+1e-12 {
				t.Fatalf("variances %v", c.Variances)
			}
		}
		total := 0.0 // 1 of each column that rows differ in
		for j := range c.Encoding.Columns {
			for _, row := range table.Rows {
				if c.Encoding.row(row)[j] != c.Encoding.row(table.Rows[0])[j] {
					total++
					break
				}
			}
		}
		if kept := sum(c.Variances); kept < share*total-1e-9 {
			t.Fatalf("components have %v of %v", kept, total)
		}
		if n > 1 && sum(c.Variances[:n-1]) > share*total+1e-9 {
			t.Fatalf("%d components would do of %v", n-1, c.Variances)
		}
	})
}

// Two features that say the same are one component, with half of each.
func TestPCAOfTwins(t *testing.T) {
	table := &Table{Features: []Feature{{Name: "a"}, {Name: "b"}, {Name: "same"}}, Classes: []string{"any"}}
	for i := range 9 {
		table.Rows = append(table.Rows, []float64{float64(i), 3 - 2*float64(i), 5})
		table.Labels = append(table.Labels, 0)
	}
	c, err := NewPCA(table, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Directions) != 1 || math.Abs(c.Variances[0]-2) > 1e-12 ||
		math.Abs(c.Directions[0][0]+c.Directions[0][1]) > 1e-12 {
		t.Errorf("%+v", c)
	}
	near, far := c.Project([]float64{4, -5, 5}), c.Project([]float64{8, -13, 5})
	if math.Abs(near[0]) > 1e-12 || math.Abs(math.Abs(far[0])-4/math.Sqrt(7.5)*math.Sqrt2) > 1e-12 {
		t.Errorf("%v and %v", near, far)
	}
	for _, bad := range []float64{0, -1, 1.5, math.NaN()} {
		if _, err := NewPCA(table, bad); err == nil {
			t.Errorf("a share of %v", bad)
		}
	}
	table.Rows, table.Labels = table.Rows[:1], table.Labels[:1]
	if c, err := NewPCA(table, 1); err != nil || len(c.Project(table.Rows[0])) != 0 {
		t.Errorf("one row: %v, %v", c, err)
	}
}
