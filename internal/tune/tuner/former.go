package tuner

import "github.com/gridloom/gridloom/internal/compile/schedule"

// respell brings the plans, configurations and parameters of a result that was written
// in former spellings into those of today.
func (r *Result) respell() {
	texts := []*string{&r.Best}
	for i := range r.Contenders {
		texts = append(texts, &r.Contenders[i].Plan)
	}
	for i := range r.Refusals {
		texts = append(texts, &r.Refusals[i].Config)
	}
	for i := range r.Advice {
		a := &r.Advice[i]
		texts = append(texts, &a.Config)
		if a.Profile != nil {
			for j := range a.Profile.Hints {
				texts = append(texts, &a.Profile.Hints[j].Change.Plan)
			}
		}
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		texts = append(texts, &k.Default, &k.Best)
		for j := range k.Trials {
			texts = append(texts, &k.Trials[j].Config, &k.Trials[j].Same)
		}
		for j, name := range k.Params {
			k.Params[j], _ = schedule.Respell(name, "")
		}
		for j := range k.Importance {
			p := &k.Importance[j]
			former := p.Name
			p.Name, _ = schedule.Respell(former, "")
			for n := range p.Values {
				_, p.Values[n].Value = schedule.Respell(former, p.Values[n].Value)
			}
		}
	}
	for _, text := range texts {
		*text = schedule.RespellText(*text)
	}
}
