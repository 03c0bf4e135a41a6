package search

import "iter"

// pull returns a sequence's points one by one, as iter.Pull does. A coroutine of iter.Pull must be used by
// threads that are locked as its creator was, but a strategy may be made by one thread and used by another that
// is locked to a device. stop ends what next has begun.
func pull(seq iter.Seq[Point]) (next func() (Point, bool), stop func()) {
	ask, quit := make(chan struct{}), make(chan struct{})
	give := make(chan Point)
	begun, over := false, false
	run := func() {
		defer close(give)
		seq(func(p Point) bool {
			give <- p
			select {
			case <-ask:
				return true
			case <-quit:
				return false
			}
		})
	}
	next = func() (Point, bool) {
		switch {
		case over:
			return nil, false
		case begun:
			ask <- struct{}{}
		default:
			begun = true
			go run()
		}
		p, ok := <-give
		over = !ok
		return p, ok
	}
	return next, func() { close(quit) }
}
