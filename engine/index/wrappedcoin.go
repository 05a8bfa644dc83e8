package index

import (
	"bytes"
	"fmt"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// keepWrapped reads which contracts of wrapped coins the chain's balances were made
// with, if the options name none, and otherwise keeps those of the options. If they
// are others balances lack something from then on, and what was being made again is
// given up.
func (c *Chain) keepWrapped() error {
	at := c.places()
	list := slices.Clone(c.opts.Wrapped)
	slices.SortFunc(list, func(a, b evm.Address) int { return bytes.Compare(a[:], b[:]) })
	var want, have []byte
	for _, a := range slices.Compact(list) {
		want = append(want, a[:]...)
	}
	found := false
	if err := c.snapshot(func(s *store.Snapshot) (err error) {
		found, err = s.Get(at.rowKey(rowWrapped), func(b []byte) error { have = bytes.Clone(b); return nil })
		return err
	}); err != nil {
		return err
	}
	if len(have)%evm.AddressLen != 0 {
		return fmt.Errorf("%w: contracts of wrapped coins", errCodec)
	}
	if c.opts.Wrapped == nil {
		for ; len(have) > 0; have = have[evm.AddressLen:] {
			c.wrapped[evm.Address(have)] = true
		}
		return nil
	}
	for _, a := range list {
		c.wrapped[a] = true
	}
	if found && bytes.Equal(want, have) {
		return nil
	}
	rows := []row{{at.rowKey(rowWrapped), want}}
	last := c.last.Load()
	if last == nil {
		return c.putRows(rows...)
	}
	next := *last
	next.places = at.lacking(partBalances.has)
	rows = append(rows, row{at.rowKey(rowServing), next.places.append(nil)})
	if err := c.abandon(rows...); err != nil {
		return err
	}
	c.setLast(&next)
	return nil
}

// abandon drops what is being made again, and writes rows with that.
func (c *Chain) abandon(rows ...row) error {
	gone, err := c.readDropping()
	if err != nil {
		return err
	}
	if err := c.snapshot(func(s *store.Snapshot) error {
		list, _, err := c.readBuild(s)
		gone = append(gone, list...)
		return err
	}); err != nil {
		return err
	}
	at := c.places()
	return c.putRows(append(rows,
		row{at.rowKey(rowBuilding), nil},
		row{at.rowKey(rowDropping), appendEditions(nil, gone)},
	)...)
}
