package lower

import (
	"fmt"
	"testing"
)

func TestVectorParts(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		most    int64
		want    string
	}{
		{nil, 4, "[]"},
		{[]int64{0}, 4, "[[0]]"},
		{[]int64{0, 1, 2, 3}, 4, "[[0 1 2 3]]"},
		{[]int64{3, 1, 0, 2}, 4, "[[0 1 2 3]]"},
		{[]int64{0, 1, 2, 3}, 2, "[[0 1] [2 3]]"},
		{[]int64{0, 1, 2, 3}, 1, "[[0] [1] [2] [3]]"},
		{[]int64{1, 2, 3, 4}, 4, "[[1] [2 3] [4]]"},
		{[]int64{2, 3, 4, 5, 6, 7, 8}, 4, "[[2 3] [4 5 6 7] [8]]"},
		{[]int64{0, 1, 2, 4, 5, 6, 7}, 4, "[[0 1] [2] [4 5 6 7]]"},
		{[]int64{0, 2, 4, 6}, 4, "[[0] [2] [4] [6]]"},
		{[]int64{4, 5, 6, 8}, 4, "[[4 5] [6] [8]]"},
		{[]int64{5, 6}, 2, "[[5] [6]]"},
	} {
		if got := fmt.Sprint(vectorParts(c.numbers, c.most)); got != c.want {
			t.Errorf("%v by at most %d: %s, not %s", c.numbers, c.most, got, c.want)
		}
	}
}
