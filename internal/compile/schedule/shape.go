package schedule

// Shape is how a configuration shares out the axes of a kernel among blocks and
// threads.
type Shape struct {
	On     []Share // by axis, outermost first
	Stream int     // the axis that blocks go along; -1 if there is none
	Length int64   // planes of a block on that axis; 0 is the whole axis
}

// Share is what a block has of one axis.
type Share struct {
	Threads int64 // of the block
	Vector  int64 // cells that a thread moves together
	Blocked int64 // neighbours of a thread; along a stream the planes of a step
	Cyclic  int64 // how often they repeat at the distance of the block
}

// Cells returns the cells of one thread.
func (s Share) Cells() int64 { return s.Vector * s.Blocked * s.Cyclic }

// Width returns the cells of a block.
func (s Share) Width() int64 { return s.Threads * s.Cells() }

// Shape returns how the configuration shares out some axes, outermost first.
// Numbers for more axes than there are do not count.
func (b ByRole) Shape(axes []string) Shape {
	s := Shape{On: make([]Share, len(axes)), Stream: -1}
	along := b.Word(Stream)
	var spread []int
	for i, name := range axes {
		s.On[i] = Share{1, 1, 1, 1}
		if along != "" && along == name {
			s.Stream, s.Length = i, b.Int(StreamLength, 0)
			continue
		}
		spread = append(spread, i)
	}
	each := func(r Role, to func(*Share) *int64) {
		n := b.Ints(r)
		if n == nil {
			return
		}
		from, _ := b.roles.axes[r].FromInner()
		for i := 1; i <= min(len(n), len(spread)-from); i++ {
			*to(&s.On[spread[len(spread)-from-i]]) = n[len(n)-i]
		}
	}
	each(Threads, func(s *Share) *int64 { return &s.Threads })
	each(Vector, func(s *Share) *int64 { return &s.Vector })
	each(BlockedUnroll, func(s *Share) *int64 { return &s.Blocked })
	each(CyclicUnroll, func(s *Share) *int64 { return &s.Cyclic })
	return s
}
