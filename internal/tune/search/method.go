package search

// method is what differs between strategies: the order in which they ask for points. It reads the history that
// it shares with its methodStrategy.
type method interface {
	// next returns a fresh point of the space; false if it needs the results of points in flight, or is done.
	next() (Point, bool)
	// told is called after the history has recorded a trial.
	told(Trial)
	// likely returns up to n fresh points that next may return soon.
	likely(n int) []Point
}

// methodStrategy makes a Strategy of a method. It asks the method for one point after the other, so that the
// portions in which points are asked for do not matter.
type methodStrategy struct {
	*history
	method method
}

func (a *methodStrategy) Ask(n int) []Point {
	var list []Point
	for len(list) < n && !a.empty && !a.ended() { // after the end Tell reaches no method
		p, ok := a.method.next()
		if !ok || a.ended() {
			break
		}
		a.ask(p)
		list = append(list, p)
	}
	return list
}

func (a *methodStrategy) Tell(t Trial) {
	a.record(t)
	if !a.ended() {
		a.method.told(t)
	}
}

func (a *methodStrategy) Likely(n int) []Point {
	if a.empty || a.ended() {
		return nil
	}
	list := a.method.likely(n)
	return list[:min(n, len(list))]
}
