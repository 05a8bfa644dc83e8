package view

import "strconv"

// PointForm is the order of the members of a point.
type PointForm uint8

const (
	// ValueFirst is that of a chain's metrics.
	ValueFirst PointForm = iota
	// TimeFirst is that of the average rate of transactions.
	TimeFirst
)

// AppendPoint appends a point of a metric: a figure, which is a JSON number, and
// the Unix time at which its bucket begins.
func AppendPoint(dst []byte, form PointForm, value []byte, unix int64) []byte {
	if form == TimeFirst {
		dst = strconv.AppendInt(append(dst, `{"timestamp":`...), unix, 10)
		dst = append(append(dst, `,"value":`...), value...)
		return append(dst, '}')
	}
	dst = append(append(dst, `{"value":`...), value...)
	dst = strconv.AppendInt(append(dst, `,"timestamp":`...), unix, 10)
	return append(dst, '}')
}
