package learn

import (
	"encoding/json"
	"errors"
)

// treeColumns is how a tree is written: numbers of one kind side by side take half the bytes, once they are compressed,
// that they take node by node. The nodes are in order, the root first, each followed by the nodes for its low values
// and then by those for its high ones. So places need not be written.
type treeColumns struct {
	Features []int     `json:"f"` // of all nodes; -1 is an answer
	Splits   []float64 `json:"s"` // of the questions
	Values   []float64 `json:"v"` // of all nodes
}

var errDamagedTree = errors.New("a tree is damaged")

// MarshalJSON writes the tree by columns. A tree whose nodes have another order than grown ones is an error.
func (t RegressionTree) MarshalJSON() ([]byte, error) {
	c := treeColumns{Features: make([]int, len(t)), Splits: []float64{}, Values: make([]float64, len(t))}
	for i := range t {
		c.Features[i], c.Values[i] = -1, t[i].Value
		if t[i].Low > 0 {
			c.Features[i], c.Splits = t[i].Feature, append(c.Splits, t[i].Split)
		}
	}
	again, err := c.tree()
	if err != nil {
		return nil, err
	}
	for i := range t {
		if t[i].Low != again[i].Low || t[i].High != again[i].High {
			return nil, errDamagedTree
		}
	}
	return json.Marshal(c)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (t *RegressionTree) UnmarshalJSON(text []byte) error {
	var c treeColumns
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	var err error
	*t, err = c.tree()
	return err
}

// tree returns the nodes.
func (c *treeColumns) tree() (RegressionTree, error) {
	n := len(c.Features)
	if n == 0 || len(c.Values) != n {
		return nil, errDamagedTree
	}
	t := make(RegressionTree, n)
	var open []int // questions whose high values have no node yet
	splits := c.Splits
	for i, f := range c.Features {
		t[i].Value = c.Values[i]
		switch {
		case f < -1:
			return nil, errDamagedTree
		case f >= 0:
			if len(splits) == 0 || i+1 == n {
				return nil, errDamagedTree
			}
			t[i].Feature, t[i].Split, t[i].Low = f, splits[0], i+1
			splits, open = splits[1:], append(open, i)
			continue
		}
		if i+1 == n {
			break
		}
		if len(open) == 0 {
			return nil, errDamagedTree
		}
		t[open[len(open)-1]].High = i + 1
		open = open[:len(open)-1]
	}
	if len(open) > 0 || len(splits) > 0 {
		return nil, errDamagedTree
	}
	return t, nil
}
