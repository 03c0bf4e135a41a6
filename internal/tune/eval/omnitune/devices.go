package omnitune

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// perDevice is a line of table 7.4 of Cummins's thesis: the size that was most often the fastest on a device, taken for
// all of its scenarios.
type perDevice struct {
	device      string
	size        Size
	legal       float64 // the share of scenarios that ran it, of those of which it is known
	least, mean float64 // speed where it was run
}

// byDevices has a line for each device, in order, and one for all GPUs and all processors where there are both.
func (s *Suite) byDevices() []perDevice {
	all := make([]*Scenario, len(s.Scenarios))
	for i := range all {
		all[i] = &s.Scenarios[i]
	}
	lists := groupsOf(all, byDevice)
	slices.SortStableFunc(lists, func(a, b fold) int { return cmp.Compare(a.name, b.name) })
	if slices.Contains(s.Features, deviceType) {
		kinds := groupsOf(all, func(x *Scenario) string { return kindOf(s.feature(x, deviceType)) })
		if len(kinds) > 1 {
			slices.SortStableFunc(kinds, func(a, b fold) int { return cmp.Compare(b.name, a.name) })
			lists = append(lists, kinds...)
		}
	}
	var lines []perDevice
	for _, list := range lists {
		lines = append(lines, usualOf(list.name, list.own))
	}
	return lines
}

const deviceType = "dev_device_type"

// kindOf is what a device's type is called.
func kindOf(number float64) string {
	switch number {
	case words[deviceType]["cl_device_type_cpu"]:
		return "CPUs"
	case words[deviceType]["cl_device_type_gpu"]:
		return "GPUs"
	}
	return "accelerators"
}

// usualOf judges the size that is most often the fastest of some scenarios; of several the fastest by mean speed.
func usualOf(device string, list []*Scenario) perDevice {
	wins, speeds := map[Size]int{}, meanSpeeds(list)
	for _, x := range list {
		wins[x.fastest()]++
	}
	line := perDevice{device: device, least: 1}
	for size, n := range wins {
		switch most := wins[line.size]; {
		case n > most, n == most && speeds[size] > speeds[line.size],
			n == most && speeds[size] == speeds[line.size] && compareSizes(size, line.size) < 0:
			line.size = size
		}
	}
	ran, known := 0, 0
	for _, x := range list {
		switch i := slices.Index(x.Sizes, line.size); {
		case i >= 0:
			ran, known = ran+1, known+1
			line.least, line.mean = min(line.least, x.Speeds[i]), line.mean+x.Speeds[i]
		case !x.Judged || slices.Contains(x.Illegal, line.size):
			known++
		}
	}
	line.legal, line.mean = float64(ran)/float64(known), line.mean/float64(ran)
	return line
}

// writeDevices prints table 7.4. Scenarios of which it is not known what is refused have the thesis's figures beside
// ours, as far as it has the device.
func writeDevices(w io.Writer, s *Suite) {
	fmt.Fprint(w, "\nTable 7.4: the size that is most often the fastest on a device")
	if s.Scenarios[0].Judged {
		fmt.Fprint(w, "\n\n| device | size | legal | least speed | mean speed |\n|---|---|---|---|---|\n")
		for _, l := range s.byDevices() {
			fmt.Fprintf(w, "| %s | %v | %.2f | %.2f | %.2f |\n", l.device, l.size, l.legal, l.least, l.mean)
		}
		return
	}
	fmt.Fprint(w, "; here, and in the thesis\n\n"+
		"| device | size | thesis | ran it | thesis | least speed | thesis | mean speed | thesis |\n"+
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range s.byDevices() {
		size, legal, least, mean := "", "", "", ""
		if p, ok := paperDevices[l.device]; ok {
			text := func(v float64) string { return fmt.Sprintf(" %.2f", v) }
			size, legal, least, mean = " "+p.size, text(p.legal), text(p.least), text(p.mean)
		}
		fmt.Fprintf(w, "| %s | %v |%s | %.2f |%s | %.2f |%s | %.2f |%s |\n", l.device, l.size, size, l.legal, legal,
			l.least, least, l.mean, mean)
	}
}
