package exec

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// rows returns how a grid of that shape lies in a device's memory; no rows at
// all if it lies dense.
func rows(l kernel.Layout, g *ir.Grid, shape []int) device.Rows {
	if l == (kernel.Layout{}) || len(shape) == 0 {
		return device.Rows{}
	}
	size, last := int64(g.Type.Size()), int64(shape[len(shape)-1])
	l.Align = max(1, l.Align)
	r := device.Rows{Lead: l.Lead * size, Bytes: last * size, Pitch: l.Pitch(last) * size, Count: 1,
		Align: l.Align * size}
	for _, n := range shape[:len(shape)-1] {
		r.Count *= int64(n)
	}
	if r.Dense() || r.Bytes*r.Count == 0 {
		return device.Rows{}
	}
	return r
}

// checkLayouts reports grids that change places and do not lie alike.
func (d *deriver) checkLayouts() error {
	for _, grids := range d.rotated {
		for _, g := range grids[1:] {
			if a, b := d.script.Grids[grids[0]], d.script.Grids[g]; a.Rows != b.Rows {
				return fmt.Errorf("%s and %s change places, but do not lie alike in the device's memory: %+v and %+v",
					a.Name, b.Name, a.Rows, b.Rows)
			}
		}
	}
	return nil
}

// runsOn reports grids that a device cannot lay out as the kernels expect it:
// the cpu works in the host's own memory, which is dense.
func (s *Script) runsOn(device string) error {
	for _, g := range s.Grids {
		if device == "cpu" && g.Rows.Count > 0 {
			return fmt.Errorf("%s does not lie dense, and the cpu's grids do", g.Name)
		}
	}
	return nil
}

// padded is memory of a device that cannot convert between dense and padded
// rows itself: a copy with the padding lies in between, on the host.
type padded struct {
	device.Buffer // with the copy as its host side
	rows          device.Rows
	dense         []byte
	between       *memory.Region
}

func newPadded(d device.Device, dense []byte, r device.Rows) (*padded, error) {
	between, err := memory.Anonymous(r.Padded())
	if err != nil {
		return nil, err
	}
	b := between.Bytes()
	for i := range b {
		b[i] = device.Poison
	}
	own, err := d.Copy(b)
	if err != nil {
		return nil, err
	}
	return &padded{own, r, dense, between}, nil
}

// Push brings the host's cells to the device, and the poison around them.
func (p *padded) Push() error {
	p.rows.Scatter(p.between.Bytes(), p.dense)
	return p.Buffer.Push()
}

// Pull brings the device's cells to the host.
func (p *padded) Pull() error {
	if err := p.Buffer.Pull(); err != nil {
		return err
	}
	p.rows.Gather(p.dense, p.between.Bytes())
	return nil
}

// place gives a grid, with its memory on the host, memory on the device. It returns the buffer that brings
// cells to and fro, and the one that kernels work on.
func (m *executor) place(g Array, host []byte, private bool) (outer, inner device.Buffer, err error) {
	switch padder, ok := m.device.(device.Padder); {
	case g.Rows == (device.Rows{}) && private:
		inner, err = m.device.Copy(host)
	case g.Rows == (device.Rows{}):
		inner, err = m.device.Share(host)
	case ok:
		inner, err = padder.CopyRows(host, g.Rows)
	default:
		p, err := newPadded(m.device, host, g.Rows)
		if err != nil {
			return nil, nil, err
		}
		return p, p.Buffer, nil
	}
	return inner, inner, err
}
