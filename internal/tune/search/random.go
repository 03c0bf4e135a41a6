package search

// random asks for points at random, without replacement.
type random struct{ queue }

func newRandom(p Problem, _ string) (Strategy, error) {
	m := newHistory(p)
	return &methodStrategy{m, &random{queue{history: m}}}, nil
}

func (r *random) fill(n int) {
	for len(r.waiting) < n {
		p, ok := r.draw()
		if !ok {
			return
		}
		r.add(p)
	}
}

func (r *random) next() (Point, bool) {
	for {
		r.fill(1)
		if len(r.waiting) == 0 {
			return nil, false
		}
		if p, ok := r.take(); ok {
			return p, true
		}
	}
}

func (r *random) told(Trial) {}

func (r *random) likely(n int) []Point {
	r.fill(n)
	return r.peek(n)
}
