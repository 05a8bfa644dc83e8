package rollup

// Window returns the record of all blocks from the beginning of an hour on, as if these
// were one bucket, but for the distinct counts: addresses of several hours do not add up,
// see [Hours]. An hour before the chain's first block counts as that of it. buckets hands
// over the records of an interval's buckets from newest down to oldest, as [Fill] does.
//
// It reads some 70 records for any window of a year: hours up to the end of the day, days
// up to the end of the month, and months.
func (s *State) Window(from uint32, buckets func(i Interval, newest, oldest uint32, take func(*Record)) error) (Record, error) {
	sum := Record{Prev: s.Last, Last: s.Last, Untraced: s.Untraced}
	firstHour, lastHour, ok := s.Bounds(Hour)
	if from = max(from, firstHour); !ok || from > lastHour {
		return sum, nil
	}
	_, lastDay, _ := s.Bounds(Day)
	_, lastMonth, _ := s.Bounds(Month)
	day := following(Day, Hour.Start(from))
	month := following(Month, Day.Start(day))
	for _, part := range [...]struct {
		i              Interval
		oldest, newest int64
	}{
		{Hour, int64(from), min(int64(lastHour), Day.Start(day)/hourSeconds-1)},
		{Day, int64(day), min(int64(lastDay), Month.Start(month)/daySeconds-1)},
		{Month, int64(month), int64(lastMonth)},
	} {
		if part.oldest > part.newest {
			continue
		}
		if err := buckets(part.i, uint32(part.newest), uint32(part.oldest), sum.merge); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// following returns the first bucket that begins at a time or after it.
func following(i Interval, unix int64) uint32 {
	n := i.Number(uint64(unix)) // not before 1970
	if i.Start(n) < unix {
		n++
	}
	return n
}

// merge adds a bucket to those that are next to it.
func (r *Record) merge(o *Record) {
	r.Prev = min(r.Prev, o.Prev)
	r.Blocks += o.Blocks
	r.Txs += o.Txs
	r.Contracts += o.Contracts
	r.LeadTxs += o.LeadTxs
	r.Gas.Add(&r.Gas, &o.Gas)
	r.BlockGas.Add(&r.BlockGas, &o.BlockGas)
	r.LeadGas.Add(&r.LeadGas, &o.LeadGas)
	addTo(&r.PriceSum, &o.PriceSum)
	addTo(&r.Fees, &o.Fees)
	if o.MaxPrice.Gt(&r.MaxPrice) {
		r.MaxPrice = o.MaxPrice
	}
	if o.MaxTxs.Seconds > 0 && o.MaxTxs.above(r.MaxTxs) {
		r.MaxTxs = o.MaxTxs
	}
	if o.MaxGas.Seconds > 0 && o.MaxGas.above(r.MaxGas) {
		r.MaxGas = o.MaxGas
	}
}
