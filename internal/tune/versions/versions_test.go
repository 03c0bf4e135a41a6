package versions

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

func TestSets(t *testing.T) {
	if first := (Set{}).Complete(); first != (Set{1, 1}) || first.IsCurrent() || first.Known() != nil {
		t.Errorf("what names no versions has %+v, %v", first, first.Known())
	}
	if now := Current(); now != (Set{arith.Version, ir.Version}) || now.Complete() != now || !now.IsCurrent() ||
		now.Known() != nil {
		t.Errorf("%+v, %v", now, now.Known())
	}
	for _, c := range []struct {
		set  Set
		want string
	}{
		{Set{arith.Version + 1, 1}, fmt.Sprintf("arithmetic %d, and this Gridloom knows %d", arith.Version+1,
			arith.Version)},
		{Set{1, ir.Version + 1}, fmt.Sprintf("program IR %d, and this Gridloom knows %d", ir.Version+1, ir.Version)},
		{Set{-1, 1}, fmt.Sprintf("arithmetic -1, and this Gridloom knows %d", arith.Version)},
	} {
		if err := c.set.Known(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.set, err, c.want)
		}
	}
	list := []Set{{1, 2}, {2, 1}, {1, 1}, {2, 2}}
	slices.SortFunc(list, Set.Compare)
	if want := []Set{{2, 2}, {2, 1}, {1, 2}, {1, 1}}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}
