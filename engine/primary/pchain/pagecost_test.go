package pchain_test

import (
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// TestPageCost: what a page reads follows from the rows that it shows, wherever in the
// history it stands: a seek or two for the list and so many for each row.
func TestPageCost(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	v := view(t, c)
	var nodes []chain.NodeID
	var owners []address.Address
	if _, err := v.Stakers(&primary.StakerFilter{AnyKind: true}, primary.Page{Limit: 200}, func(s *primary.Staker) bool {
		if len(nodes) < 3 {
			nodes = append(nodes, s.Node)
		}
		if len(owners) < 3 {
			owners = append(owners, s.RewardOwners.Addresses...)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		name        string
		lists, each int // seeks for the lists, and for each row
		read        func(v *pchain.View, p primary.Page, row func()) (primary.Position, error)
	}{
		{"blocks", 1, 0, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Blocks(&primary.BlockFilter{}, p, func(*primary.BlockInfo) bool { row(); return true })
		}},
		{"transactions", 1, 0, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Txs(nil, primary.TimeRange{}, p, func(*primary.TxRow) (primary.Result, error) { row(); return primary.Taken, nil })
		}},
		{"transactions with what they spend and make", 2, 0, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Txs(nil, primary.TimeRange{}, p, func(tx *primary.TxRow) (primary.Result, error) {
				row()
				if _, ok, err := tx.Consumed(); err != nil || !ok {
					t.Errorf("transaction %s: %v, %v", tx.ID, ok, err)
				}
				made, err := v.SpentOf(tx, p.Asc)
				for range made {
					row()
				}
				return primary.Taken, err
			})
		}},
		{"transactions of addresses", len(owners), 1, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Txs(owners, primary.TimeRange{}, p, func(*primary.TxRow) (primary.Result, error) { row(); return primary.Taken, nil })
		}},
		{"outputs of addresses", len(owners), 1, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Outputs(owners, []primary.OutputState{primary.Spent}, p, func(*primary.Output) (primary.Result, error) { row(); return primary.Taken, nil })
		}},
		{"subnets", 1, 1, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Subnets(p, func(s *primary.Subnet) bool {
				if len(s.Blockchains) <= 2 {
					row()
				}
				return len(s.Blockchains) <= 2
			})
		}},
		{"blockchains", 1, 0, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Blockchains(p, func(*primary.Blockchain) bool { row(); return true })
		}},
		{"delegators", 1, 0, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			f := primary.StakerFilter{Subnet: &chain.PrimaryNetworkID, Delegators: true}
			return v.Stakers(&f, p, func(*primary.Staker) bool { row(); return true })
		}},
		{"completed delegators", 1, 1, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			f := primary.StakerFilter{Subnet: &chain.PrimaryNetworkID, Delegators: true, Status: primary.Completed}
			return v.Stakers(&f, p, func(*primary.Staker) bool { row(); return true })
		}},
		{"rewards", len(nodes), 0, func(v *pchain.View, p primary.Page, row func()) (primary.Position, error) {
			return v.Rewards(&primary.RewardFilter{Nodes: nodes}, p, func(*primary.Reward) bool { row(); return true })
		}},
	} {
		for _, asc := range []bool{false, true} {
			p, pages := primary.Page{Limit: 3, Asc: asc}, 0
			for {
				rows := 0
				read0, seeks0 := v.Cost()
				next, err := l.read(v, p, func() { rows++ })
				if err != nil {
					t.Fatalf("%s: %v", l.name, err)
				}
				read1, seeks1 := v.Cost()
				if seeks, most := seeks1-seeks0, l.lists+l.each*(rows+1); seeks > most {
					t.Errorf("%s: %d seeks for %d rows on page %d, at most %d", l.name, seeks, rows, pages, most)
				}
				if read, most := read1-read0, (1+2*l.each)*(rows+1); read > most {
					t.Errorf("%s: %d rows were read for %d on page %d, at most %d", l.name, read, rows, pages, most)
				}
				if p.After = next; next == nil {
					break
				}
				if pages++; rows == 0 {
					break // the row has no room on any page
				}
			}
			if pages < 1 {
				t.Errorf("%s: %d pages", l.name, pages)
			}
		}
	}
}
