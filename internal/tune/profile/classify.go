package profile

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

// The thresholds of the rules. Rawat et al. 2019 (section IV) give no numbers: they say "far below the ridge", and
// "faster".
const (
	// binding is the share of a kernel's time that has to go with a cost for it to bind the kernel. Twice the scatter
	// of a quiet machine is no gain, and a tenth is what a user would want to have.
	binding = 0.10
	// far is how many times the ridge an intensity has to be below it to be far below: arithmetic takes no more than
	// half of the time of the transfers then.
	far = 2
	// reached is the share of a bandwidth, or of the arithmetic, from which on a kernel that no variant is faster than
	// counts as bound by it. Nsight Compute, too, calls 60 % high.
	reached = 0.60
	// idle is the share of a bandwidth below which a level does not bind by its bandwidth: a kernel that is faster
	// without it waits for it, with too little under way.
	idle = 0.40
	// idleAtLeast takes its place where the bytes are what has to move at the least: twice as much may move.
	idleAtLeast = 0.20
)

// Class is what binds a kernel.
type Class string

// The classes.
const (
	BoundByDRAM    Class = "bandwidth-bound at dram"
	BoundByL2      Class = "bandwidth-bound at l2"
	BoundByL1      Class = "bandwidth-bound at l1"
	BoundByShared  Class = "bandwidth-bound at shared memory"
	ComputeBound   Class = "compute-bound"
	LatencyBound   Class = "latency-bound"
	NotTold        Class = "not told" // nothing was measured
	boundByNothing Class = ""
)

// Bandwidth reports whether a level of memory binds a kernel by its bandwidth.
func (c Class) Bandwidth() bool {
	return c == BoundByDRAM || c == BoundByL2 || c == BoundByL1 || c == BoundByShared
}

// Place is where an intensity lies on the roofline of a level.
type Place string

// The places.
const (
	FarBelow Place = "far below the ridge" // bandwidth-bound there, by the roofline
	Near     Place = "near the ridge"      // differencing has to tell
	Above    Place = "above the ridge"     // compute-bound there
)

// PlaceOf returns where an intensity lies, by a ridge that is known.
func PlaceOf(intensity, ridge float64) Place {
	switch {
	case intensity >= ridge:
		return Above
	case intensity*far <= ridge:
		return FarBelow
	}
	return Near
}

// costs are the variants with the classes that they speak for. Those that are nested leave out what those before them
// do, and more.
var costs = []struct {
	without string
	class   Class
	nested  bool
	level   string // whose traffic it is; "" for arithmetic
}{
	{kernel.WithoutDRAM, BoundByDRAM, true, DRAM},
	{kernel.WithoutL2, BoundByL2, true, L2},
	{kernel.WithoutL1, BoundByL1, true, L1},
	{kernel.WithoutShared, BoundByShared, false, Shared},
	{kernel.WithoutArithmetic, ComputeBound, false, ""},
}

// classify sets the shares of a kernel's variants, its class and the evidence for it: the cost with which most of the
// time goes, if that is enough; otherwise what the kernel reaches most of, if that is enough; otherwise latency.
func (k *Kernel) classify() {
	k.Evidence = nil
	k.share()
	if k.Seconds <= 0 {
		k.Class = NotTold
		return
	}
	k.Class = k.byVariants()
	if k.Class == boundByNothing {
		k.Class = k.byRoof()
	}
}

// share sets which part of the time goes with each cost.
func (k *Kernel) share() {
	before := 1.0 // the time that is left, in the kernel's
	for _, c := range costs {
		v := k.Variant(c.without)
		if v == nil {
			continue
		}
		v.Share = 0
		left := 1 / v.Gain
		from := 1.0
		if c.nested {
			from = before
		}
		if v.Interval[0] > 1 && left < from {
			v.Share = from - left
			if c.nested {
				before = left
			}
		}
	}
}

func (k *Kernel) byVariants() Class {
	var most *Variant
	class, level := boundByNothing, ""
	for _, c := range costs {
		if v := k.Variant(c.without); v != nil && v.Share >= binding && (most == nil || v.Share > most.Share) {
			most, class, level = v, c.class, c.level
		}
	}
	if most == nil {
		return class
	}
	k.say("%s of the time goes with %s: the kernel without it is %.2f (%s) times as fast",
		quantity.Percent(most.Share), most.Removes, most.Gain, most.Interval)
	if l := k.Level(level); l != nil && l.Share > 0 {
		if l.Share < idle && !l.AtLeast || l.Share < idleAtLeast {
			k.say("yet it moves %s%s of what %s can: too little is under way, and it waits", l.atLeast(),
				quantity.Percent(l.Share), level)
			return LatencyBound
		}
		k.say("it moves %s%s of what %s can", l.atLeast(), quantity.Percent(l.Share), level)
	}
	return class
}

// byRoof tells a class by what the kernel reaches of the device, where no cost binds it alone: two that overlap may.
func (k *Kernel) byRoof() Class {
	class, share, of := LatencyBound, reached, ""
	if len(k.Variants) > 0 {
		k.say("no variant without one of its costs is %s faster", quantity.Percent(binding))
	}
	if k.Peak >= share {
		class, share, of = ComputeBound, k.Peak, "arithmetic of the device"
	}
	if k.Issue >= share {
		class, share, of = ComputeBound, k.Issue, "issue slots"
	}
	for _, c := range costs {
		if l := k.Level(c.level); l != nil && l.Share >= share {
			class, share, of = c.class, l.Share, "bandwidth of "+c.level
		}
	}
	if of == "" {
		k.say("it reaches less than %s of the issue slots, the arithmetic and any bandwidth that is known",
			quantity.Percent(reached))
	} else {
		k.say("it reaches %s of the %s", quantity.Percent(share), of)
	}
	return class
}

func (k *Kernel) say(format string, args ...any) {
	k.Evidence = append(k.Evidence, fmt.Sprintf(format, args...))
}

// byCounters returns the class that counters tell: that of the part that is nearest to its peak, if one is near. Memory
// is measured by what a copy moves, where that is known. No kernel reaches the memory's peak, and a copy comes to 88 %
// of it on an H200, while caches, issue slots and pipes come close to theirs. The first cache and shared memory are one
// part: what moves more bytes is meant.
func (k *Kernel) byCounters() Class {
	h := k.Counters
	memory := h.DRAM
	if l := k.Level(DRAM); l != nil && l.Share > 0 {
		memory = 100 * l.Share
	}
	near := BoundByL1
	if wavefrontBytes*h.SharedWavefronts > h.L1Bytes {
		near = BoundByShared
	}
	class, most := LatencyBound, 100*reached
	for _, p := range []struct {
		percent float64
		class   Class
	}{
		{memory, BoundByDRAM}, {h.L2, BoundByL2}, {h.L1, near}, {max(h.Issue, h.FP64, h.FP32), ComputeBound},
	} {
		if p.percent >= most {
			class, most = p.class, p.percent
		}
	}
	return class
}

// wavefrontBytes is what the banks of shared memory give in a cycle.
const wavefrontBytes = 128
