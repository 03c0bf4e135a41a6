package search

// method is what makes one strategy different from another: in which order it
// wants points. It reads the memory that it shares with its agent.
type method interface {
	// next returns a fresh point of the space; false if it wants to be told of
	// what is under way, or if it is done.
	next() (Point, bool)
	// told is called when the memory has taken in a trial.
	told(Trial)
	// ahead returns up to n fresh points that next may return soon.
	ahead(n int) []Point
}

// agent makes a Strategy of a method. Points are asked for one after the other,
// so that it does not matter in which portions.
type agent struct {
	*memory
	method method
}

func (a *agent) Ask(n int) []Point {
	var list []Point
	for len(list) < n && !a.empty {
		p, ok := a.method.next()
		if !ok || a.over() {
			break
		}
		a.ask(p)
		list = append(list, p)
	}
	return list
}

func (a *agent) Tell(t Trial) {
	a.note(t)
	if !a.over() {
		a.method.told(t)
	}
}

func (a *agent) Likely(n int) []Point {
	if a.empty || a.over() {
		return nil
	}
	list := a.method.ahead(n)
	return list[:min(n, len(list))]
}
