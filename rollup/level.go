package rollup

// Levels reads a figure that stays until it changes, such as a stake or a running total,
// from newer buckets to older ones: one in which nothing was stored has the figure of the
// one before.
type Levels struct {
	stored func() (number uint32, value []byte, ok bool, err error)
	value  []byte
	from   int64 // the bucket of value
	done   bool  // there is none before
}

// NewLevels returns the levels of which stored returns the values, the newest first;
// they are good until the next call.
func NewLevels(stored func() (number uint32, value []byte, ok bool, err error)) *Levels {
	return &Levels{stored: stored, from: 1 << 32}
}

// At returns what was stored last up to a bucket, nil if nothing was. Buckets must be
// asked for from the newest to the oldest. The value is good until the next call.
func (l *Levels) At(number uint32) ([]byte, error) {
	for l.from > int64(number) && !l.done {
		n, value, ok, err := l.stored()
		if err != nil {
			return nil, err
		}
		if !ok {
			l.value, l.done = nil, true
			break
		}
		l.from, l.value = int64(n), append(l.value[:0], value...)
	}
	return l.value, nil
}

// Back yields a figure in each bucket from newest down to the first one that has it,
// with that of the bucket before, of which it is zero if that has none, until take
// returns false. At returns the figure in a bucket; it is asked from the newest on.
func Back[F any](newest uint32, at func(number uint32) (f F, ok bool, err error), take func(number uint32, now, before F) bool) error {
	now, ok, err := at(newest)
	for ; err == nil && ok; newest-- {
		var before F
		if ok = newest > 0; ok {
			var found F
			if found, ok, err = at(newest - 1); err != nil {
				return err
			} else if ok {
				before = found
			}
		}
		if !take(newest, now, before) {
			return nil
		}
		now = before
	}
	return err
}

// Before returns the last bucket that begins before a time, or if that is zero the one of
// now, and none after that. ok is false if only the very first one does: a page of
// buckets that ends there has no other after it.
func (i Interval) Before(time, now uint64) (number uint32, ok bool) {
	number = i.Number(now)
	switch {
	case time == 0:
		return number, true
	case i.Start(1) >= 0 && time <= uint64(i.Start(1)):
		return 0, false
	}
	return min(number, i.Number(time-1)), true
}
