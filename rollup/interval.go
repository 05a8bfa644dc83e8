package rollup

import "time"

// Interval is the length of a bucket. Values are stored.
type Interval uint8

// The intervals.
const (
	Hour Interval = iota
	Day
	Week
	Month
)

// Intervals is the number of intervals.
const Intervals = 4

const (
	hourSeconds = 3600
	daySeconds  = 24 * hourSeconds
	// thursday is how many days after a Monday 1970 began.
	thursday = 3
	// maxHour is the number of the last hour that a stamp has room for.
	maxHour = 1<<24 - 2
	maxTime = (maxHour+1)*hourSeconds - 1
)

// ParseInterval reads a name as the API has it.
func ParseInterval(name string) (Interval, bool) {
	for i := Hour; i < Intervals; i++ {
		if i.String() == name {
			return i, true
		}
	}
	return 0, false
}

// String returns the name that the API has.
func (i Interval) String() string {
	return [...]string{"hour", "day", "week", "month"}[i]
}

// Number returns the bucket of a time in Unix seconds. Buckets are numbered
// without gaps, from that of 1970-01-01.
func (i Interval) Number(unix uint64) uint32 {
	unix = min(unix, maxTime)
	switch i {
	case Hour:
		return uint32(unix / hourSeconds)
	case Day:
		return uint32(unix / daySeconds)
	case Week:
		return uint32((unix/daySeconds + thursday) / 7)
	}
	y, m, _ := time.Unix(int64(unix), 0).UTC().Date()
	return uint32((y-1970)*12 + int(m) - 1)
}

// Start returns the time at which a bucket begins, in Unix seconds. That of the
// first week is in 1969.
func (i Interval) Start(number uint32) int64 {
	n := int64(number)
	switch i {
	case Hour:
		return n * hourSeconds
	case Day:
		return n * daySeconds
	case Week:
		return (n*7 - thursday) * daySeconds
	}
	return time.Date(1970, time.Month(n+1), 1, 0, 0, 0, 0, time.UTC).Unix()
}
