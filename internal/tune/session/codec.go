package session

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// longestNote is how much of a refusal's text is kept. Compilers may say the
// same thing for every line.
const longestNote = 4096

// A trial's detail is what its row holds as bytes: what is looked at only
// together with the whole trial. First come flags for what there is, then the
// milliseconds since the session began, then the parts in the order of the
// flags. Whole numbers are varints.
const (
	hasTimings   = 1 << iota // the interval and the samples, see packTimings
	hasResources             // registers, spills, shared; occupancy in 4 bytes
	hasError                 // 8 bytes
	hasTimes                 // five times in microseconds
	isReused                 // no bytes
	hasBlocks                // blocks of a multiprocessor
	hasCondition             // five numbers
	hasCode                  // 8 bytes
)

// Round makes a trial what reading it again will give.
func (t *Trial) Round(started time.Time) {
	t.Config = schedule.RespellText(t.Config)
	t.At = started.Add(max(0, t.At.Sub(started)).Truncate(time.Millisecond)).UTC()
	for _, d := range t.times() {
		*d = d.Round(time.Microsecond)
	}
	t.Note = shortened(t.Note, longestNote)
	if !(math.Abs(t.Error) <= math.MaxFloat64) {
		t.Error = math.MaxFloat64 // infinite or no number, which JSON has no words for
	}
	if len(t.Samples) == 0 {
		t.Samples = nil
	}
	if t.timed() {
		r := &reader{bytes: t.packTimings(nil)}
		t.Samples = nil
		t.unpackTimings(r)
	}
}

func (t *Trial) timed() bool { return t.High != 0 || len(t.Samples) > 0 }

// Pack returns a trial's detail. The trial is rounded and checked.
func (t *Trial) Pack(started time.Time) []byte {
	flags := byte(0)
	set := func(flag byte, is bool) bool {
		if is {
			flags |= flag
		}
		return is
	}
	out := binary.AppendUvarint([]byte{0}, uint64(t.At.Sub(started).Milliseconds()))
	if set(hasTimings, t.timed()) {
		out = t.packTimings(out)
	}
	r := t.Resources
	blocks := r.Blocks
	r.Blocks = 0
	if set(hasResources, r != Resources{}) {
		for _, n := range []int{r.Registers, r.Spills, r.Shared} {
			out = binary.AppendUvarint(out, uint64(n))
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(r.Occupancy))
	}
	if set(hasError, t.Error != 0) {
		out = appendFloat(out, t.Error)
	}
	var spent time.Duration
	for _, d := range t.times() {
		spent += *d
	}
	if set(hasTimes, spent != 0) {
		for _, d := range t.times() {
			out = binary.AppendUvarint(out, uint64(d.Microseconds()))
		}
	}
	set(isReused, t.Reused)
	if set(hasBlocks, blocks != 0) {
		out = binary.AppendUvarint(out, uint64(blocks))
	}
	if set(hasCondition, t.Condition != Condition{}) {
		for _, n := range t.Condition.parts() {
			out = binary.AppendUvarint(out, uint64(*n))
		}
	}
	if set(hasCode, t.Code != 0) {
		out = t.Code.append(out)
	}
	out[0] = flags
	return out
}

// Unpack fills in what Pack has written.
func (t *Trial) Unpack(detail []byte, started time.Time) error {
	r := &reader{bytes: detail}
	flags := r.byte()
	t.At = started.Add(time.Duration(r.uvarint()) * time.Millisecond).UTC()
	if flags&hasTimings != 0 {
		t.unpackTimings(r)
	}
	if flags&hasResources != 0 {
		t.Resources = Resources{Registers: int(r.uvarint()), Spills: int(r.uvarint()), Shared: int(r.uvarint())}
		t.Resources.Occupancy = math.Float32frombits(binary.LittleEndian.Uint32(r.take(4)))
	}
	if flags&hasError != 0 {
		t.Error = r.float()
	}
	if flags&hasTimes != 0 {
		for _, d := range t.times() {
			*d = time.Duration(r.uvarint()) * time.Microsecond
		}
	}
	t.Reused = flags&isReused != 0
	if flags&hasBlocks != 0 {
		t.Resources.Blocks = int(r.uvarint())
	}
	if flags&hasCondition != 0 {
		for _, n := range t.Condition.parts() {
			*n = int(r.uvarint())
		}
	}
	if flags&hasCode != 0 {
		t.Code = Code(binary.LittleEndian.Uint64(r.take(8)))
	}
	if r.failed || len(r.bytes) > 0 {
		return errPacked
	}
	return nil
}

var errPacked = errors.New("the bytes of a trial make no sense")

// timingBits is how much of the largest timing is kept: a part in a million,
// finer than any timer that is read for milliseconds.
const timingBits = 20

// packTimings appends the interval, rounded outwards, and the samples, as
// multiples of a power of two, each by how far it is from the median: two bytes
// if that is less than 0.8 %.
//
//	number of samples, exponent of the unit, differences
func (t *Trial) packTimings(out []byte) []byte {
	largest := t.High
	for _, v := range t.Samples {
		largest = max(largest, v)
	}
	_, e := math.Frexp(largest)
	if math.Ceil(math.Ldexp(largest, timingBits-e)) == 1<<timingBits {
		e++ // it may be rounded up to the next power of two, whose unit is twice this
	}
	e -= timingBits
	out = binary.AppendUvarint(out, uint64(len(t.Samples)))
	out = binary.AppendVarint(out, int64(e))
	base := t.base(e)
	out = binary.AppendVarint(out, int64(math.Floor(math.Ldexp(t.Low, -e)))-base)
	out = binary.AppendVarint(out, int64(math.Ceil(math.Ldexp(t.High, -e)))-base)
	for _, v := range t.Samples {
		out = binary.AppendVarint(out, int64(math.RoundToEven(math.Ldexp(v, -e)))-base)
	}
	return out
}

// unpackTimings reads what packTimings has appended.
func (t *Trial) unpackTimings(r *reader) {
	n, e := r.uvarint(), int(r.varint())
	if n > uint64(len(r.bytes)) {
		r.failed = true
		return
	}
	base := t.base(e)
	next := func() float64 { return math.Ldexp(float64(base+r.varint()), e) }
	t.Low, t.High = next(), next()
	for range n {
		t.Samples = append(t.Samples, next())
	}
}

// base returns the median as a multiple of 2^e, cut where it lies so far above
// its samples that it makes no sense.
func (t *Trial) base(e int) int64 {
	return int64(min(math.RoundToEven(math.Ldexp(t.Median, -e)), 1<<52))
}

func appendFloat(out []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
}
