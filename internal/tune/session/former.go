package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Versions 1 and 2 wrote as text for people what is typed now. Here, and nowhere else,
// such texts are taken apart. A text that cannot be read is kept as it is (Former).
//
//	sizes    L=512,M=512,N=512             4096x4096
//	budget   1m0s, 1,500 trials, until 95%
//	space    limit vec<=4; free; local=fused <- family=tile,block=8x32 family=cells
//	clocks   sm=1980,memory=3201
//	host     node7
//	device   AMD EPYC 9654, 8 threads      as the name of a processor
//	condition 1980 MHz, memory 3201 MHz, 41 degrees C, 320 W of 700

// formerly reads a JSON value that earlier versions wrote as a string.
func formerly[T any](text []byte, into *T, read func(string) T) (bool, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '"' {
		return false, nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return true, err
	}
	*into = read(s)
	return true, nil
}

// UnmarshalJSON reads sizes of all versions.
func (s *Sizes) UnmarshalJSON(text []byte) error {
	if was, err := formerly(text, s, ParseSizes); was {
		return err
	}
	type plain Sizes
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	return s.check()
}

// UnmarshalJSON reads budgets of all versions.
func (b *Budget) UnmarshalJSON(text []byte) error {
	if was, err := formerly(text, b, formerBudget); was {
		return err
	}
	type plain Budget
	return json.Unmarshal(text, (*plain)(b))
}

// UnmarshalJSON reads spaces of all versions.
func (s *Space) UnmarshalJSON(text []byte) error {
	if was, err := formerly(text, s, formerSpace); was {
		s.respell()
		return err
	}
	type plain Space
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	s.respell()
	return nil
}

// respell brings parameters and values that were stored in a former spelling into that
// of today. What cannot be parsed stays as it is.
func (s *Space) respell() {
	for i := range s.Restrictions {
		switch r := &s.Restrictions[i]; r.Kind {
		case Limit:
			r.Text = schedule.LimitTo("", r.Text).Text
		case Fix:
			if now, err := schedule.FixTo("", r.Text); err == nil {
				r.Text = now.Text
			}
		}
	}
	if p, err := schedule.ParsePlan(s.Plan); err == nil {
		s.Plan = p.String()
	}
	for i, text := range s.Begin {
		s.Begin[i] = schedule.RespellText(text)
	}
}

// UnmarshalJSON reads clocks of all versions.
func (c *Clocks) UnmarshalJSON(text []byte) error {
	if was, err := formerly(text, c, formerClocks); was {
		return err
	}
	type plain Clocks
	return json.Unmarshal(text, (*plain)(c))
}

// UnmarshalJSON reads hosts of all versions.
func (h *Host) UnmarshalJSON(text []byte) error {
	if was, err := formerly(text, h, func(name string) Host { return Host{Name: name} }); was {
		return err
	}
	type plain Host
	return json.Unmarshal(text, (*plain)(h))
}

// UnmarshalJSON reads devices of all versions.
func (d *Device) UnmarshalJSON(text []byte) error {
	type plain Device
	if err := json.Unmarshal(text, (*plain)(d)); err != nil {
		return err
	}
	d.settle()
	return nil
}

// UnmarshalJSON reads conditions of all versions.
func (c *Condition) UnmarshalJSON(text []byte) error {
	if was, err := formerly(text, c, formerCondition); was {
		return err
	}
	type plain Condition
	return json.Unmarshal(text, (*plain)(c))
}

// Column reads a column of a database, which has the JSON of a value, or the text of
// an earlier version; an empty one is the zero value.
func Column[T any](text string, into *T) error {
	if text == "" {
		return nil
	}
	if text[0] != '{' && text[0] != '[' {
		quoted, err := json.Marshal(text)
		if err != nil {
			return err
		}
		text = string(quoted)
	}
	return json.Unmarshal([]byte(text), into)
}

// settle gives a processor its threads, which were part of its name.
func (d *Device) settle() {
	if d.API != CPU || d.Units != 0 {
		return
	}
	at := strings.LastIndex(d.Name, ", ")
	if at < 0 {
		return
	}
	number, word, _ := strings.Cut(d.Name[at+2:], " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || word != "threads" && word != "thread" {
		return
	}
	head := d.Name[:at]
	if d.Name == fmt.Sprintf("%s, %d %s", head, n, word) { // one thread was "1 threads"
		d.Name, d.Units = head, n
	}
}

// formerBudget reads "1m0s, 1,500 trials, until 95%".
func formerBudget(text string) Budget {
	var b Budget
	for rest := text; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, ", ")
		number, trials := strings.CutSuffix(strings.TrimSuffix(part, "s"), " trial")
		target, until := strings.CutPrefix(part, "until ")
		switch {
		case until:
			percent, part := strings.CutSuffix(target, "%")
			v, err := strconv.ParseFloat(percent, 64)
			if err != nil || !(v > 0) || b.Target != (Target{}) {
				return Budget{Former: text}
			}
			if part {
				b.Target.Fraction = v / 100
			} else {
				b.Target.GStencils = v
			}
		case trials:
			n, err := strconv.Atoi(strings.ReplaceAll(number, ",", ""))
			if err != nil || n < 1 || b.Trials > 0 {
				return Budget{Former: text}
			}
			b.Trials = n
		default:
			d, err := time.ParseDuration(part)
			if err != nil || d <= 0 || b.Time > 0 {
				return Budget{Former: text}
			}
			b.Time = d
		}
	}
	return b
}

// formerSpace reads "limit vec<=4; free; local=fused <- family=tile,block=8x32 family=cells".
func formerSpace(text string) Space {
	var s Space
	restrictions, begin, _ := strings.Cut(text, " <- ")
	for config := range strings.FieldsSeq(begin) {
		if _, err := schedule.ParseConfig(config); err != nil {
			return Space{Former: text}
		}
		s.Begin = append(s.Begin, config)
	}
	if restrictions == "" {
		return s
	}
	for part := range strings.SplitSeq(restrictions, "; ") {
		kind, rest, _ := strings.Cut(part, " ")
		switch {
		case part == "free":
			s.Free = true
		case part == "any integers":
			s.AnyIntegers = true
		case (kind == Limit || kind == Fix) && rest != "":
			s.Restrictions = append(s.Restrictions, Restriction{kind, rest})
		default:
			p, err := schedule.ParsePlan(part)
			if err != nil || s.Plan != "" {
				return Space{Former: text}
			}
			s.Plan = p.String()
		}
	}
	return s
}

// formerClocks reads "sm=1980,memory=3201".
func formerClocks(text string) Clocks {
	var c Clocks
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err == nil && n >= 0 && name == "sm":
			c.Compute = n
		case err == nil && n >= 0 && name == "memory":
			c.Memory = n
		default:
			return Clocks{Former: text}
		}
	}
	return c
}

// conditionText is how a GPU's condition was written; what came behind, about memory
// and other programs, is not kept.
var conditionText = regexp.MustCompile(`^(\d+) MHz, memory (\d+) MHz, (\d+) degrees C, (\d+) W(?: of (\d+))?`)

// formerCondition reads "1980 MHz, memory 3201 MHz, 41 degrees C, 320 W of 700".
func formerCondition(text string) Condition {
	var c Condition
	m := conditionText.FindStringSubmatch(text)
	if m == nil {
		return c
	}
	for i, to := range []*int{&c.Clock, &c.MemoryClock, &c.Temperature, &c.Power, &c.PowerLimit} {
		if n, err := strconv.Atoi("0" + m[i+1]); err == nil {
			*to = n
		}
	}
	return c
}
