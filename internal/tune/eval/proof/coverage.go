package proof

import (
	"cmp"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Coverage says what the kernels of a proof were like.
type Coverage struct {
	Families Counts   `json:"families"`
	Values   []Counts `json:"parameters"`
}

// Counts says how many kernels had which value of a parameter.
type Counts struct {
	Name   string  `json:"name"`
	Values []Count `json:"values"`
}

// Count is how often there was a value.
type Count struct {
	Value string `json:"value"`
	Times int    `json:"times"`
}

// add counts a value.
func (c *Counts) add(value string) {
	i, found := c.find(value)
	if !found {
		c.Values = slices.Insert(c.Values, i, Count{Value: value})
	}
	c.Values[i].Times++
}

// count counts a value of a parameter.
func (c *Coverage) count(name, value string) {
	i := slices.IndexFunc(c.Values, func(x Counts) bool { return x.Name == name })
	if i < 0 {
		i = len(c.Values)
		c.Values = append(c.Values, Counts{Name: name})
	}
	c.Values[i].add(value)
}

// add counts the kernels of a plan, and how it has its local grids.
func (c *Coverage) add(p schedule.Plan) {
	for _, k := range p.Kernels {
		c.Families.add(k.Config.Family)
		for _, s := range k.Config.Values {
			c.count(s.Name, s.Value.String())
		}
	}
	word, _ := lower.LocalGrids(p)
	c.count("local", word)
}

// sort puts the parameters in order.
func (c *Coverage) sort() {
	c.Families.Name = schedule.FamilyName
	slices.SortFunc(c.Values, func(a, b Counts) int { return cmp.Compare(a.Name, b.Name) })
}
