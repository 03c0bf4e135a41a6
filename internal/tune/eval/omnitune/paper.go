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

// paperDevices are the lines of the thesis's table 7.4 of devices that our scenarios have, and of GPUs and processors.
var paperDevices = map[string]struct {
	size               string
	legal, least, mean float64
}{
	"tahiti":                                 {"48x4", 1, 0.54, 0.91},
	"intel_r_core_tm_i5_2430m_cpu_@_2.40ghz": {"64x16", 0.8, 0.37, 0.91},
	"intel_r_core_tm_i5_4570_cpu_@_3.20ghz":  {"88x8", 0.89, 0.33, 0.89},
	"intel_r_core_tm_i7_3820_cpu_@_3.60ghz":  {"40x24", 0.95, 0.76, 0.97},
	"geforce_gtx_590":                        {"12x2", 0.8, 0.2, 0.9},
	"geforce_gtx_titan":                      {"64x4", 1, 0.26, 0.81},
	"GPUs":                                   {"64x4", 0.76, 0.26, 0.86},
	"CPUs":                                   {"88x8", 0.88, 0.33, 0.91},
}
