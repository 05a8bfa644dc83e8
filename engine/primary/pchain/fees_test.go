package pchain_test

import (
	"slices"
	"testing"

	devnet "quorate/devnet/primary"
	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/warp"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// What validators of L1s have paid after the history is what they were given but for what
// they have or got back; it adds up for subnets, nodes and all; and each day's is the
// difference to the one before.
func TestFees(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	h.made.Read(func(s *devnet.State) {
		subnets, nodes := map[chain.ID][2]uint64{}, map[chain.NodeID][2]uint64{}
		all, ended := [2]uint64{}, 0
		in, back := l1Funds(t, v)
		for id, x := range s.L1Validators {
			paid, paying := in[id]-back[id], uint64(0)
			if x.EndAccrued != 0 && x.Weight != 0 {
				paid -= x.Balance(s.Accrued)
				paying = 1
			} else if paid > 0 {
				ended++
			}
			sameFees(t, v, &pchain.FeeFilter{Validation: &id}, [2]uint64{paid, paying})
			all = [2]uint64{all[0] + paid, all[1] + paying}
			of := subnets[x.Subnet]
			subnets[x.Subnet] = [2]uint64{of[0] + paid, of[1] + paying}
			of = nodes[x.NodeID]
			nodes[x.NodeID] = [2]uint64{of[0] + paid, of[1] + paying}
		}
		for id, want := range subnets {
			sameFees(t, v, &pchain.FeeFilter{Subnet: &id}, want)
		}
		for id, want := range nodes {
			sameFees(t, v, &pchain.FeeFilter{Node: &id}, want)
		}
		sameFees(t, v, &pchain.FeeFilter{}, all)
		if all[0] == 0 || all[1] == 0 || ended < 2 || len(subnets) < 2 {
			t.Errorf("%d paid by %d, %d ended, %d subnets", all[0], all[1], ended, len(subnets))
		}
	})
}

// sameFees compares the last day's fees, and looks at all days.
func sameFees(t *testing.T, v *pchain.View, f *pchain.FeeFilter, want [2]uint64) {
	t.Helper()
	const day = 24 * 60 * 60
	var days []pchain.FeeDay
	for before := uint64(0); ; { // in pages of three
		n := 0
		if err := v.FeeDays(f, before, func(d *pchain.FeeDay) bool {
			if n == 3 {
				return false
			}
			days = append(days, *d)
			n, before = n+1, d.Time
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if n < 3 {
			break
		}
	}
	if len(days) == 0 {
		if want != [2]uint64{} {
			t.Errorf("%+v: no days, want %v", f, want)
		}
		return
	}
	if days[0].Time != v.Time()/day*day || days[0].Paid != want[0] || days[0].Paying != want[1] {
		t.Errorf("%+v: %+v, want %v", f, days[0], want)
	}
	sum := uint64(0)
	for i, d := range days {
		if sum += d.Today; i > 0 && (d.Time != days[i-1].Time-day || days[i-1].Paid-d.Paid != days[i-1].Today) {
			t.Fatalf("%+v: %+v before %+v", f, d, days[i-1])
		}
	}
	if sum != want[0] {
		t.Errorf("%+v: the days add up to %d, want %d", f, sum, want[0])
	}
}

// l1Funds returns what validators of L1s were given by transactions, and what they got back.
func l1Funds(t *testing.T, v *pchain.View) (in, back map[chain.ID]uint64) {
	t.Helper()
	in, back = map[chain.ID]uint64{}, map[chain.ID]uint64{}
	payload := func(message []byte) []byte {
		signed, err := warp.ParseSigned(message)
		if err != nil {
			t.Fatal(err)
		}
		call, err := warp.ParseAddressedCall(signed.Payload)
		if err != nil {
			t.Fatal(err)
		}
		return call.Payload
	}
	refund := func(id chain.ID, row *primary.TxRow) {
		for _, made := range row.Made {
			u, found, err := v.Output(made)
			if err != nil || !found {
				t.Fatal(found, err)
			}
			back[id] += u.Amount
		}
	}
	_, err := v.Txs(nil, primary.TimeRange{}, primary.Page{Limit: 1 << 30, Asc: true}, func(row *primary.TxRow) (primary.Result, error) {
		tx, err := platform.ParseTx(row.Raw)
		if err != nil {
			return primary.Passed, err
		}
		switch b := tx.Body.(type) {
		case *platform.ConvertSubnetToL1:
			for i := range b.Validators {
				in[platform.ConvertedValidationID(b.Subnet, uint32(i))] += b.Validators[i].Balance
			}
		case *platform.RegisterL1Validator:
			r, err := platform.ParseL1Registration(payload(b.Message))
			if err != nil {
				return primary.Passed, err
			}
			in[r.ValidationID] += b.Balance
		case *platform.IncreaseL1ValidatorBalance:
			in[b.ValidationID] += b.Balance
		case *platform.DisableL1Validator:
			refund(b.ValidationID, row)
		case *platform.SetL1ValidatorWeight:
			w, err := platform.ParseL1Weight(payload(b.Message))
			if err != nil {
				return primary.Passed, err
			}
			refund(w.ValidationID, row)
		}
		return primary.Taken, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return in, back
}

// What transactions have burned is what the simulated network's own executor says, and
// each day has what the transactions of that day put in and left to nobody.
func TestBurned(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60
	h, c := full(t)
	v := view(t, c)
	avax := v.AVAX()
	want, last := map[uint64]uint64{}, uint64(0)
	_, err := v.Txs(nil, primary.TimeRange{}, primary.Page{Limit: 1 << 30, Asc: true}, func(row *primary.TxRow) (primary.Result, error) {
		tx, err := platform.ParseTx(row.Raw)
		if err != nil {
			return primary.Passed, err
		}
		if row.Height > 0 { // the genesis burns nothing
			want[row.Time/day] += burnedBy(tx, avax)
		}
		return primary.Taken, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var days []primary.BurnedDay
	for before := uint64(0); ; { // in pages of five
		n := 0
		if known, err := v.BurnedDays(avax, before, func(d *primary.BurnedDay) bool {
			if n == 5 {
				return false
			}
			days = append(days, *d)
			n, before = n+1, d.Time
			return true
		}); err != nil || !known {
			t.Fatal(known, err)
		}
		if n < 5 {
			break
		}
	}
	for i, d := range days {
		if i > 0 && d.Time != days[i-1].Time-day {
			t.Fatalf("%+v before %+v", d, days[i-1])
		}
		if d.Today != want[d.Time/day] {
			t.Errorf("day %d: %d, want %d", d.Time/day, d.Today, want[d.Time/day])
		}
		last += d.Today
		delete(want, d.Time/day)
	}
	for d, amount := range want {
		if amount > 0 {
			t.Errorf("day %d has no row", d)
		}
	}
	h.made.Read(func(s *devnet.State) {
		if len(days) < 10 || days[0].Total != s.Burned || last != s.Burned {
			t.Errorf("%d days, %d burned, want %d", len(days), last, s.Burned)
		}
	})
}

// burnedBy returns what a transaction burns.
func burnedBy(tx *platform.Tx, avax chain.ID) (sum uint64) {
	if tx.Body.Funds() == nil {
		return 0
	}
	in, outs := tx.Body.Funds().Inputs, slices.Concat(tx.Body.Funds().Outputs, devnet.Stake(tx))
	switch b := tx.Body.(type) {
	case *platform.Import:
		in = slices.Concat(in, b.Imported)
	case *platform.Export:
		outs = slices.Concat(outs, b.Exported)
	case *platform.ConvertSubnetToL1:
		for i := range b.Validators {
			sum -= b.Validators[i].Balance
		}
	case *platform.RegisterL1Validator:
		sum -= b.Balance
	case *platform.IncreaseL1ValidatorBalance:
		sum -= b.Balance
	}
	for i := range in {
		if in[i].Asset == avax {
			sum += in[i].Amount
		}
	}
	for i := range outs {
		if outs[i].Asset == avax {
			sum -= outs[i].Amount
		}
	}
	return sum
}
