package report

import (
	"cmp"
	"math"
	"slices"
)

// Importance is how much of the differences in time one parameter explains by
// itself.
type Importance struct {
	Name string
	// Share is between 0 and 1: the part of the variance of the logarithm of time
	// that lies between the parameter's values (omega squared, W. L. Hays,
	// "Statistics for Psychologists", 1963), which unlike the plain ratio does
	// not grow with the number of values alone.
	Share  float64
	Values []Effect
}

// Effect is what a value does.
type Effect struct {
	Value  string
	Trials int
	Mean   float64 // of the time, geometric
	Best   float64
}

// Importances returns the parameters that had more than one value, the most
// important first.
func (k *Kernel) Importances() []Importance {
	good := k.good()
	if len(good) < 3 {
		return nil
	}
	mean := 0.0
	for _, t := range good {
		mean += math.Log(t.Seconds)
	}
	mean /= float64(len(good))
	total := 0.0
	for _, t := range good {
		d := math.Log(t.Seconds) - mean
		total += d * d
	}
	var list []Importance
	for _, name := range k.Names() {
		im := Importance{Name: name}
		logs := map[string]float64{}
		for _, t := range good {
			v := t.value(name)
			i := slices.IndexFunc(im.Values, func(e Effect) bool { return e.Value == v })
			if i < 0 {
				i = len(im.Values)
				im.Values = append(im.Values, Effect{Value: v, Best: t.Seconds})
			}
			e := &im.Values[i]
			e.Trials++
			e.Best = min(e.Best, t.Seconds)
			logs[v] += math.Log(t.Seconds)
		}
		groups := len(im.Values)
		if groups < 2 || total == 0 || len(good) <= groups {
			continue
		}
		between := 0.0
		for i := range im.Values {
			e := &im.Values[i]
			m := logs[e.Value] / float64(e.Trials)
			e.Mean = math.Exp(m)
			between += float64(e.Trials) * (m - mean) * (m - mean)
		}
		within := (total - between) / float64(len(good)-groups)
		im.Share = max(0, (between-float64(groups-1)*within)/(total+within))
		slices.SortStableFunc(im.Values, func(a, b Effect) int { return cmp.Compare(a.Mean, b.Mean) })
		list = append(list, im)
	}
	slices.SortStableFunc(list, func(a, b Importance) int { return cmp.Compare(b.Share, a.Share) })
	return list
}
