package omnitune

// published is a line of tables 7.5 to 7.7 of Cummins's thesis ("Autotuning stencil codes with algorithmic skeletons",
// University of Edinburgh, 2015), which the paper of 2018 sums up: 429 scenarios, of which ours are a part.
type published struct{ performance, overBaseline, overHuman float64 }

// paperTables are the thesis's tables of models, by split.
var paperTables = []struct {
	name, model string
	rows        map[string]published
}{
	{"7.5", "j48, nearest", map[string]published{
		"10-fold":   {0.92, 5.65, 1.26},
		"synthetic": {0.92, 4.79, 1.13},
		"device":    {0.85, 5.23, 1.17},
		"kernel":    {0.89, 5.43, 1.21},
		"dataset":   {0.91, 5.63, 1.25},
	}},
	{"7.6", "run time", map[string]published{
		"10-fold":   {0.68, 4.13, 0.88},
		"synthetic": {0.78, 3.81, 1.06},
		"device":    {0.69, 3.89, 0.97},
		"kernel":    {0.74, 4.36, 1.04},
		"dataset":   {0.72, 4.33, 0.98},
	}},
	{"7.7", "speed-up", map[string]published{
		"10-fold":   {0.89, 5.67, 1.10},
		"synthetic": {0.86, 4.48, 1.19},
		"device":    {0.85, 5.18, 1.15},
		"kernel":    {0.88, 5.38, 1.15},
		"dataset":   {0.88, 5.53, 1.13},
	}},
}
