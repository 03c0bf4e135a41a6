package schedule

import "slices"

// fissionSetting is the setting of a plan that names a version of the program, which fission makes of the source. It
// is no parameter of a kernel: the version has calls and kernels of its own.
const fissionSetting = "fission"

// Fission returns the version of the program that a plan is of, and what the plan says of that; "" is the program as it
// is.
func (p Plan) Fission() (version string, rest Plan) {
	v, said := p.Every.Get(fissionSetting)
	if !said {
		return "", p
	}
	p.Every.Values = slices.DeleteFunc(slices.Clone(p.Every.Values), func(s Setting) bool {
		return s.Name == fissionSetting
	})
	return v.String(), p
}

// WithFission returns a plan of a version of the program.
func (p Plan) WithFission(version string) Plan {
	if version == "" {
		return p
	}
	p.Every.Values = slices.Insert(slices.Clone(p.Every.Values), 0, Setting{Name: fissionSetting, Value: Word(version)})
	return p
}
