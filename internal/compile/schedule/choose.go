package schedule

// Choose makes a configuration of the family parameter by parameter: pick returns the value of each parameter that
// exists beside those before it. What it makes may break constraints: Space.Check tells.
func (f *Family) Choose(pick func(*Param) Value) Config {
	c := Config{Family: f.Name, Values: make([]Setting, 0, len(f.Params))}
	for i := range f.Params {
		if p := &f.Params[i]; len(p.When) == 0 || p.exists(c) {
			c.Values = append(c.Values, Setting{p.Name, pick(p)})
		}
	}
	return c
}
