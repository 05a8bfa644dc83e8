package rollup

// Fill yields the records of the buckets from newest down to oldest, with
// one for each gap between stored ones. stored yields the stored records with
// numbers up to newest, the newest first, and no more after the chain's first.
// What take gets is good until it returns.
func Fill(newest, oldest uint32, stored func() (*Bucket, error), take func(number uint32, r *Record)) error {
	for next := int64(newest); next >= int64(oldest); {
		b, err := stored()
		if err != nil {
			return err
		}
		if b == nil {
			return nil
		}
		gap := b.Record.next()
		for ; next > int64(b.Number) && next >= int64(oldest); next-- {
			take(uint32(next), &gap)
		}
		if next == int64(b.Number) && next >= int64(oldest) {
			take(b.Number, &b.Record)
			next--
		}
	}
	return nil
}
