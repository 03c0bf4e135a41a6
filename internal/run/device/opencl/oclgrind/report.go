package oclgrind

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
)

// Report is what a launch did.
type Report struct {
	Faults []Fault // in the order in which they were first seen
	Counts
	Memory [][]byte // of the arguments that are memory, afterwards
}

// Fault is something that went wrong, in the words and kinds of the simulator.
// Of faults of one kind at one line the first is described and all are counted.
type Fault struct {
	Kind  sim.Kind // OutOfBounds, Unwritten, Race or Divergence
	Line  int      // of the source; 0 if it is not known
	Text  string   // Oclgrind's own first line
	Who   string   // the threads: "Global(1,0,0) Local(1,0,0) Group(0,0,0)", one or two of them
	Times int
}

// String says what happened and where.
func (f Fault) String() string {
	s := fmt.Sprintf("line %d: %s (%s)", f.Line, f.Text, f.Who)
	if f.Times > 1 {
		s += fmt.Sprintf(", %d times", f.Times)
	}
	return s
}

// signs are what Oclgrind's messages say, by kind.
var signs = []struct {
	text string
	kind sim.Kind
}{
	{"data race at", sim.Race},
	{"Invalid read", sim.OutOfBounds},
	{"Invalid write", sim.OutOfBounds},
	{"exceeds static array size", sim.OutOfBounds},
	{"Uninitialized", sim.Unwritten},
	{"depends on uninitialized", sim.Unwritten},
	{"divergence detected", sim.Divergence},
}

var (
	lineOf  = regexp.MustCompile(`At line (\d+) `)
	entity  = regexp.MustCompile(`(?:Global|Work-group: ?)\(.*`)
	counted = regexp.MustCompile(`(?m)^ *([\d,]+) - (load|store) (global|constant|local|private) \(([\d,]+) bytes\)$`)
	waited  = regexp.MustCompile(`(?m)^ *([\d,]+) - call _Z7barrierj\(\)$`)
)

// faults reads Oclgrind's log: messages that begin at the left margin, each
// with indented lines about it.
func faults(log string) ([]Fault, error) {
	var list []Fault
	type place struct {
		kind sim.Kind
		line int
	}
	known := map[place]int{}
	for _, m := range messages(log) {
		kind, err := m.kind()
		if err != nil {
			return nil, err
		}
		f := Fault{Kind: kind, Text: m.head, Times: 1, Who: strings.Join(entity.FindAllString(m.rest, -1), " and ")}
		if at := lineOf.FindStringSubmatch(m.rest); at != nil {
			f.Line, _ = strconv.Atoi(at[1])
		}
		at := place{kind, f.Line}
		if i, seen := known[at]; seen {
			list[i].Times++
			continue
		}
		known[at] = len(list)
		list = append(list, f)
	}
	return list, nil
}

// message is an entry of the log.
type message struct{ head, rest string }

func messages(log string) []message {
	var list []message
	for line := range strings.SplitSeq(strings.Trim(log, "\x00"), "\n") {
		switch {
		case strings.HasPrefix(line, "\t") && len(list) > 0:
			list[len(list)-1].rest += line + "\n"
		case strings.TrimSpace(line) != "":
			list = append(list, message{head: line})
		}
	}
	return list
}

// kind tells a fault of the kernel from what Oclgrind cannot do.
func (m message) kind() (sim.Kind, error) {
	for _, s := range signs {
		if strings.Contains(m.head, s.text) {
			return s.kind, nil
		}
	}
	return 0, fmt.Errorf("oclgrind could not run the kernel: %s: %s", m.head, strings.Join(strings.Fields(m.rest), " "))
}

// Counts are a launch's accesses to memory and barriers, by thread.
type Counts struct {
	spaces   [kernel.Private + 1]sim.Traffic
	Barriers int64 // threads that have come to one
}

// Space returns the accesses to a memory space. Variables count as private
// memory: nothing is optimised.
func (c *Counts) Space(s kernel.Space) sim.Traffic { return c.spaces[s] }

// parseCounts reads Oclgrind's table of instructions.
func parseCounts(table, name string) (Counts, error) {
	var c Counts
	if !strings.Contains(table, "Instructions executed for kernel '"+name+"':") {
		return c, fmt.Errorf("oclgrind has counted nothing for the kernel %s", name)
	}
	spaces := map[string]kernel.Space{"global": kernel.Global, "constant": kernel.Constant, "local": kernel.Shared,
		"private": kernel.Private}
	for _, m := range counted.FindAllStringSubmatch(table, -1) {
		t := &c.spaces[spaces[m[3]]]
		if m[2] == "load" {
			t.Loads, t.LoadedBytes = whole(m[1]), whole(m[4])
		} else {
			t.Stores, t.StoredBytes = whole(m[1]), whole(m[4])
		}
	}
	if m := waited.FindStringSubmatch(table); m != nil {
		c.Barriers = whole(m[1])
	}
	return c, nil
}

// whole reads a number as Oclgrind prints it.
func whole(s string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64) // digits alone
	return n
}
