package tuner

import (
	"sync/atomic"

	"github.com/gridloom/gridloom/internal/tune/search"
)

// thinker runs a strategy beside the measurements, so that a device need not
// wait while it thinks. It is told the trials in the order in which they were
// asked for, and asks anew after each: what it asks for is a function of the
// trials alone, however long they take, so that a search that was interrupted
// goes on as it would have.
type thinker struct {
	strategy search.Strategy
	window   func(told int) int  // the most that are asked for and not told
	trials   int                 // the most in all; 0 for any
	past     map[string]*Outcome // from before an interruption, by configuration: what counts whatever the limits are
	before   int                 // how many these were
	text     func(search.Point) string
	spare    func() int // how many processes have nothing to compile

	asked, told int
	news        chan news
	thoughts    chan thought
	owed        int // thoughts that have not come yet; of the one who tells
	ended       atomic.Bool
}

// news is what a thinker is told: a trial, but for the first one.
type news struct {
	trial *search.Trial
	ask   bool // whether more may be asked for
}

// thought is the answer: points to try, and some that are likely to come.
type thought struct {
	points, likely []search.Point
}

// mostNews is more than are ever told and not answered: each trial that is told
// was asked for.
const mostNews = 2 * largeWindow

// start makes the thinker think until stop.
func (t *thinker) start() {
	t.news, t.thoughts = make(chan news, mostNews), make(chan thought, mostNews)
	go func() {
		defer close(t.thoughts)
		for n := range t.news {
			if !t.ended.Load() {
				t.thoughts <- t.think(n)
			}
		}
	}()
}

// stop ends it. What it has not said by then it does not say; nobody waits for the
// end of its thought, which may take a while.
func (t *thinker) stop() {
	t.ended.Store(true)
	close(t.news)
	go func() {
		for range t.thoughts {
		}
	}()
}

// tell tells it something. It answers by a thought.
func (t *thinker) tell(n news) {
	t.owed++
	t.news <- n
}

func (t *thinker) think(n news) thought {
	if n.trial != nil {
		t.strategy.Tell(*n.trial)
		t.told++
	}
	var o thought
	if !n.ask {
		return o
	}
	for !t.ended.Load() && t.asked-t.told < t.window(t.told) && (t.trials == 0 || t.asked < t.trials || t.replays()) {
		points := t.strategy.Ask(1)
		if len(points) == 0 {
			break
		}
		t.asked++
		if len(t.past) > 0 {
			delete(t.past, t.text(points[0]))
		}
		o.points = append(o.points, points[0])
	}
	if len(t.news) == 0 && !t.ended.Load() { // else there will be better hints soon
		o.likely = t.strategy.Likely(t.spare())
	}
	return o
}

// replays reports whether the search is where it was before it was interrupted.
// All that it had measured then is asked for within a window.
func (t *thinker) replays() bool {
	return len(t.past) > 0 && t.asked < t.before+t.window(t.told)
}

// poll returns a thought that is there, without waiting.
func (t *thinker) poll() (thought, bool) {
	select {
	case o := <-t.thoughts:
		t.owed--
		return o, true
	default:
		return thought{}, false
	}
}
