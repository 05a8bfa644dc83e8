package primary

import (
	"encoding/binary"
	"fmt"
	"math"

	store "quorate/engine/store/index"
	"quorate/rollup"
)

// Day returns the bucket of a time in Unix seconds as rows of days have it.
func Day(time uint64) uint64 { return uint64(rollup.Day.Number(time)) }

// DayTime returns when a day begins, in Unix seconds.
func DayTime(number uint32) uint64 { return uint64(rollup.Day.Start(number)) }

// DayRows reads rows of days that are asked for from the newest to the oldest: what was
// last written up to a day.
type DayRows struct {
	*rollup.Levels
	it *store.Rows
}

// DayRows opens the rows whose keys are a prefix and a day, from the last day to ask for
// on.
func (v *View) DayRows(prefix Key, last uint32) (*DayRows, error) {
	it, err := v.Rows(prefix, true)
	if err != nil {
		return nil, err
	}
	it.Seek(prefix.Clone().U64(uint64(last)))
	read := false // the row here
	var room []byte
	return &DayRows{it: it, Levels: rollup.NewLevels(func() (number uint32, value []byte, ok bool, err error) {
		if read {
			it.Next()
		}
		if read = true; !it.Valid() {
			return 0, nil, false, nil
		}
		rest := it.Key()[len(prefix):]
		if len(rest) != 8 || binary.BigEndian.Uint64(rest) > math.MaxUint32 {
			return 0, nil, false, fmt.Errorf("%w: day", ErrRow)
		}
		v.read++
		err = it.Value(func(b []byte) error {
			room = append(room[:0], b...)
			return nil
		})
		return uint32(binary.BigEndian.Uint64(rest)), room, err == nil, err
	})}, nil
}

// Close ends the reading.
func (d *DayRows) Close() { d.it.Close() }
