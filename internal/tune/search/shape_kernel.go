package search

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Shape settles which coordinates exist, given p's family and its values of
// those parameters on which others depend.
func (k *KernelSpace) Shape(p Point) Point {
	q := make(Point, len(p))
	for i := range q {
		q[i] = Absent
	}
	q[0] = p[0]
	if p[0] < 0 {
		return q
	}
	for _, s := range k.shapes[p[0]] {
		if !s.exists(q) {
			continue
		}
		for _, i := range s.coordinates {
			q[i] = p[i]
			if q[i] == Absent {
				q[i] = Free
			}
		}
		for _, i := range s.perhaps {
			q[i] = p[i]
		}
	}
	return q
}

// paramShape says of one parameter of a family which coordinates it has.
type paramShape struct {
	name        string
	all         []int // coordinates, the outermost number first
	coordinates []int
	perhaps     []int // those that only some of its values have
	when        []kernelCondition
}

// kernelCondition holds if a coordinate has one of some values.
type kernelCondition struct {
	coordinate int
	in         []bool
}

// exists reports whether the conditions hold at q.
func (s *paramShape) exists(q Point) bool {
	for _, c := range s.when {
		if v := q[c.coordinate]; v == Absent || v >= 0 && !c.in[v] {
			return false
		}
	}
	return true
}

// newShapes works out the shapes of all families.
func (k *KernelSpace) newShapes() [][]paramShape {
	var list [][]paramShape
	for f := range k.space.Families {
		var shapes []paramShape
		for i := range k.space.Families[f].Params {
			shapes = append(shapes, k.newShape(&k.space.Families[f].Params[i]))
		}
		list = append(list, shapes)
	}
	return list
}

func (k *KernelSpace) newShape(p *schedule.Param) paramShape {
	s := paramShape{name: p.Name}
	for i := 1; i < len(k.params); i++ {
		if k.parts[i].name != p.Name {
			continue
		}
		has := func(v schedule.Value) bool {
			_, ok := k.value(schedule.Config{}.With(p.Name, v), i)
			return ok
		}
		if !slices.ContainsFunc(p.Values, has) {
			continue
		}
		s.all = append(s.all, i)
		switch {
		case slices.ContainsFunc(p.Values, func(v schedule.Value) bool { return !has(v) }):
			s.perhaps = append(s.perhaps, i)
		default:
			s.coordinates = append(s.coordinates, i)
		}
	}
	slices.SortFunc(s.all, func(a, b int) int { return k.parts[b].fromEnd - k.parts[a].fromEnd })
	for _, c := range p.When {
		i := slices.IndexFunc(k.params, func(x Param) bool { return x.Name == c.Param })
		if i < 0 {
			// The condition asks for a list, which is several coordinates: nobody can
			// tell cheaply whether p exists.
			return paramShape{name: p.Name, all: s.all, perhaps: s.all}
		}
		in := make([]bool, len(k.params[i].Values))
		for j, v := range k.params[i].Values {
			in[j] = slices.ContainsFunc(c.In, v.Equal)
		}
		s.when = append(s.when, kernelCondition{i, in})
	}
	return s
}
