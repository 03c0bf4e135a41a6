package learn

import (
	"encoding/json"
	"errors"
	"slices"
)

// Trees are trees of one model.
type Trees []RegressionTree

// treeColumns is how trees are written: once they are compressed, numbers of one kind side by side take half the bytes
// that they take node by node, and a tenth less than tree by tree. The nodes are in order, the root of each tree first,
// each followed by the nodes for its low values and then by those for its high ones. So neither places need be written
// nor where a tree ends.
type treeColumns struct {
	Features []int     `json:"f"` // of all nodes; -1 is an answer
	Splits   []float64 `json:"s"` // of the questions
	Values   []float64 `json:"v"` // of all nodes
}

var errDamagedTree = errors.New("a tree is damaged")

// MarshalJSON writes the trees by columns. A tree whose nodes have another order than grown ones is an error.
func (t Trees) MarshalJSON() ([]byte, error) {
	c := treeColumns{Features: []int{}, Splits: []float64{}, Values: []float64{}}
	for _, tree := range t {
		for _, n := range tree {
			c.Values = append(c.Values, n.Value)
			if n.Low > 0 {
				c.Features, c.Splits = append(c.Features, n.Feature), append(c.Splits, n.Split)
			} else {
				c.Features = append(c.Features, -1)
			}
		}
	}
	again, err := c.trees()
	if err != nil {
		return nil, err
	}
	samePlaces := func(a, b RegressionNode) bool { return a.Low == b.Low && a.High == b.High }
	if !slices.EqualFunc(t, again, func(a, b RegressionTree) bool { return slices.EqualFunc(a, b, samePlaces) }) {
		return nil, errDamagedTree
	}
	return json.Marshal(c)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (t *Trees) UnmarshalJSON(text []byte) error {
	var c treeColumns
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	var err error
	*t, err = c.trees()
	return err
}

// trees returns the trees.
func (c *treeColumns) trees() (Trees, error) {
	if len(c.Values) != len(c.Features) {
		return nil, errDamagedTree
	}
	var (
		all    Trees
		tree   RegressionTree
		open   []int // questions whose high values have no node yet
		splits = c.Splits
	)
	for i, f := range c.Features {
		at, n := len(tree), RegressionNode{Value: c.Values[i]}
		switch {
		case f < -1 || f >= 0 && len(splits) == 0:
			return nil, errDamagedTree
		case f >= 0:
			n.Feature, n.Split, n.Low = f, splits[0], at+1
			splits, open = splits[1:], append(open, at)
			tree = append(tree, n)
			continue
		}
		tree = append(tree, n)
		if len(open) == 0 {
			all, tree = append(all, slices.Clip(tree)), nil
			continue
		}
		tree[open[len(open)-1]].High = at + 1
		open = open[:len(open)-1]
	}
	if len(tree) > 0 || len(splits) > 0 {
		return nil, errDamagedTree
	}
	return all, nil
}
