package replay

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// coordinate is what strategies see of a parameter, or of one of its numbers if
// its values are lists like 8x32.
type coordinate struct {
	param  search.Param
	from   int     // the parameter of the recording
	number []int16 // by the parameter's value: that of the coordinate, or search.Absent
	middle float64 // the number of the default, or of the value in the middle
}

// of returns the coordinate of a configuration.
func (c *coordinate) of(config []uint16) int16 {
	if v := config[c.from]; v != Missing {
		return c.number[v]
	}
	return search.Absent
}

// axes names the numbers of a list from the last one on.
var axes = []string{"x", "y", "z", "w"}

// usualRoles are the roles of parameters in the recordings of others, by how their
// names usually begin.
var usualRoles = []struct {
	prefix string
	role   schedule.Role
	axis   schedule.Axis
}{
	{"block", schedule.Threads, schedule.NoAxis},
	{"vec", schedule.Vector, schedule.InnerAxis},
	{"rows", schedule.BlockedUnroll, schedule.OuterAxis},
	{"repeat", schedule.CyclicUnroll, schedule.NoAxis},
	{"tile", schedule.BlockedUnroll, schedule.NoAxis},
	{"unroll", schedule.Unroll, schedule.NoAxis},
	{"planes", schedule.StreamUnroll, schedule.StreamAxis}, // of the family "stream"
}

// formerFamilies are families that kernels had once, and which of today have their parameters.
var formerFamilies = map[string]string{"stream": "planes"}

// meaning returns the role of a recorded parameter and the axis of its last number:
// what the recorded families declare, or those that have their parameters now, else what is usual.
func (r *Recording) meaning(name string) (schedule.Role, schedule.Axis) {
	var families []string
	for i := range r.Params {
		if r.Params[i].Name == schedule.FamilyName {
			for _, v := range r.Params[i].Values {
				families = append(families, v.String())
				if now, former := formerFamilies[v.String()]; former {
					families = append(families, now)
				}
			}
		}
	}
	if name == schedule.FamilyName {
		return schedule.Choice, schedule.NoAxis
	}
	if families != nil {
		if p, ok := lower.Declared(name, families...); ok {
			return p.Role, p.Axis
		}
	}
	for _, u := range usualRoles {
		if strings.HasPrefix(name, u.prefix) {
			return u.role, u.axis
		}
	}
	return schedule.NoRole, schedule.NoAxis
}

func coordinates(r *Recording) []coordinate {
	var out []coordinate
	for i := range r.Params {
		p := &r.Params[i]
		role, innermost := r.meaning(p.Name)
		first, spread := innermost.FromInner()
		lists, longest := shapes(p)
		for d := range longest {
			values := make([]schedule.Value, len(p.Values))
			has := make([]bool, len(p.Values))
			for v, l := range lists {
				if at := len(l) - 1 - d; at >= 0 {
					values[v], has[v] = schedule.Int(l[at]), true
				}
			}
			axis := axes[d]
			if longest+first <= len(axes) { // there is an axis for all numbers
				axis = axes[d+first]
			}
			c := arrange(search.Param{Name: p.Name + "." + axis, Of: p.Name, Role: role, Axis: axis}, values, has)
			out = append(out, finish(c, i, p))
		}
		if longest == 0 {
			q := onAxis(p.Name)
			if q.Role = role; q.Axis == "" && spread {
				q.Axis = axes[first]
			}
			c := arrange(q, stand(p), slices.Repeat([]bool{true}, len(p.Values)))
			out = append(out, finish(c, i, p))
		}
	}
	return out
}

// finish says where a coordinate comes from.
func finish(c coordinate, from int, p *Param) coordinate {
	c.from = from
	c.middle = float64(len(c.param.Values)-1) / 2
	if p.Default >= 0 && c.number[p.Default] >= 0 {
		c.middle = float64(c.number[p.Default])
	}
	return c
}

// onAxis takes the axis from a name that ends in it.
func onAxis(name string) search.Param {
	for _, axis := range axes {
		if of, ok := strings.CutSuffix(name, "_"+axis); ok {
			return search.Param{Name: name, Of: of, Axis: axis}
		}
	}
	return search.Param{Name: name, Of: name}
}

// arrange makes a coordinate of each value's part in it.
func arrange(q search.Param, values []schedule.Value, has []bool) coordinate {
	c := coordinate{param: q, number: make([]int16, len(values))}
	for i, v := range values {
		if has[i] && !slices.ContainsFunc(c.param.Values, v.Equal) {
			c.param.Values = append(c.param.Values, v)
		}
	}
	if c.param.Values[0].IsNumber() {
		slices.SortFunc(c.param.Values, func(a, b schedule.Value) int { return int(a.Ints()[0] - b.Ints()[0]) })
	}
	for i, v := range values {
		c.number[i] = search.Absent
		if has[i] {
			c.number[i] = int16(slices.IndexFunc(c.param.Values, v.Equal))
		}
	}
	return c
}

// shapes returns the numbers of a parameter whose values are lists like 8x32, or
// single numbers beside such lists, and the length of the longest; 0 if they are not.
func shapes(p *Param) (lists [][]int64, longest int) {
	for _, v := range p.Values {
		l, err := schedule.ParseValue(v.String())
		if err != nil || !l.IsNumber() || len(l.Ints()) > len(axes) {
			return nil, 0
		}
		lists = append(lists, l.Ints())
		longest = max(longest, len(l.Ints()))
	}
	if longest < 2 {
		return nil, 0
	}
	return lists, longest
}

// stand returns what stands for a parameter's values: whole numbers and words
// as they are, and otherwise their order.
func stand(p *Param) []schedule.Value {
	numbers, whole, words := true, true, true
	for _, v := range p.Values {
		numbers = numbers && v.isNumber()
		whole = whole && v.isNumber() && v.kind != decimal
		words = words && isWord(v.String())
	}
	out := make([]schedule.Value, len(p.Values))
	for i, v := range p.Values {
		switch order := schedule.Int(int64(i)); {
		case whole:
			out[i] = schedule.Int(int64(v.number))
		case words:
			out[i] = schedule.Word(v.String())
		case numbers:
			out[i] = order
		default:
			out[i] = schedule.Word("v" + order.String())
		}
	}
	return out
}

// isWord reports whether a text can be a word of package schedule.
func isWord(s string) bool {
	v, err := schedule.ParseValue(s)
	return err == nil && !v.IsNumber()
}
