package learn

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawTree grows a random tree.
func drawTree(t *rapid.T) RegressionTree {
	var tree RegressionTree
	var grow func(level int) int
	grow = func(level int) int {
		at := len(tree)
		tree = append(tree, RegressionNode{Value: rapid.Float64Range(-2, 2).Draw(t, "value")})
		if level == 0 || rapid.IntRange(0, 3).Draw(t, "answer") == 0 {
			return at
		}
		tree[at].Feature, tree[at].Split = rapid.IntRange(0, 9).Draw(t, "feature"), rapid.Float64().Draw(t, "split")
		tree[at].Low = grow(level - 1)
		tree[at].High = grow(level - 1)
		return at
	}
	grow(5)
	return tree
}

// Trees that are written are read again, bit for bit; damaged ones are refused.
func TestTreeColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trees := make(Trees, rapid.IntRange(1, 3).Draw(t, "trees"))
		nodes := 0
		for i := range trees {
			trees[i] = drawTree(t)
			nodes += len(trees[i])
		}
		text, err := json.Marshal(trees)
		if err != nil {
			t.Fatal(err)
		}
		var again Trees
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, trees) {
			t.Fatalf("%s is read as %v: %v", text, again, err)
		}
		var c treeColumns
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, nodes-1).Draw(t, "damaged")
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			c.Features[i] = -1 - c.Features[i]
		case 1:
			c.Features = c.Features[:i]
		case 2:
			c.Splits = append(c.Splits, 1)
		default:
			c.Values = append(c.Values, 1)
		}
		damaged, err := c.trees()
		if err == nil {
			t.Fatalf("%+v is read as %v", c, damaged)
		}
	})
	for _, bad := range []RegressionTree{{}, {{Low: 1, High: 1}, {}}, {{Low: 2, High: 1}, {}, {}}, {{}, {}}} {
		for _, trees := range []Trees{{bad}, {bad, {{}}}, {{{}}, bad}} {
			if text, err := json.Marshal(trees); err == nil {
				t.Errorf("%v is written as %s", trees, text)
			}
		}
	}
	if text, err := json.Marshal(Trees{}); err != nil || string(text) != `{"f":[],"s":[],"v":[]}` {
		t.Errorf("no trees are written as %s (%v)", text, err)
	}
	var trees Trees
	if err := json.Unmarshal([]byte(`{"f":[3,-1],"s":[1],"v":[1,2]}`), &trees); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v, %v", trees, err)
	}
}
