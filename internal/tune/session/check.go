package session

import (
	"fmt"
	"strings"
	"time"
)

// shortened cuts a text to so many bytes.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Settle makes a session what reading it again will give, and refuses what only a
// later Gridloom knows: it may mean something else by its configurations. What names
// no versions is of the first ones.
func (s *Session) Settle() error {
	s.Set = s.Set.Complete()
	if err := s.Set.Known(); err != nil {
		return fmt.Errorf("session %s was measured under %v", s.ID, err)
	}
	if err := s.Sizes.check(); err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	if s.Ranks < 0 {
		return fmt.Errorf("session %s: %d ranks", s.ID, s.Ranks)
	}
	s.Device.settle()
	s.Started = s.Started.Truncate(time.Millisecond).UTC()
	return nil
}
