package bench

import (
	"bytes"
	"fmt"

	"quorate/rollup"
)

// pageSet is pages of one size out of a history.
type pageSet struct {
	history
	points int
	kinds  []kindOfPage
}

// kindOfPage is a metric at an interval that it is there for.
type kindOfPage struct {
	metric   rollup.Metric
	interval rollup.Interval
	windows  int64 // ends of pages that are full, at least 1
}

// intervalSeconds are the lengths of intervals; that of a month is its least.
var intervalSeconds = [rollup.Intervals]int64{
	rollup.Hour: 3600, rollup.Day: 86400, rollup.Week: 7 * 86400, rollup.Month: 28 * 86400,
}

// newPageSet takes the intervals of which the history has as many points as a
// page, or, if none has, hours.
func newPageSet(h history, metrics []rollup.Metric, points int) *pageSet {
	s := &pageSet{history: h, points: points}
	for _, m := range metrics {
		for i := range rollup.Interval(rollup.Intervals) {
			if m.DayOnly() && i != rollup.Day {
				continue
			}
			spare := (h.last-h.first)/intervalSeconds[i] - int64(points)
			if i == rollup.Month {
				spare = (h.last-h.first)/(31*86400) - int64(points)
			}
			if spare >= 0 || i == rollup.Hour {
				s.kinds = append(s.kinds, kindOfPage{m, i, max(spare, 0) + 1})
			}
		}
	}
	return s
}

func (s *pageSet) path(k *kindOfPage) string {
	return fmt.Sprintf("%s?timeInterval=%s&pageSize=%d", k.metric, k.interval, s.points)
}

// warm returns the newest page of each metric and interval.
func (s *pageSet) warm() []string {
	var all []string
	for i := range s.kinds {
		all = append(all, s.path(&s.kinds[i]))
	}
	return all
}

// stride spreads the ends of pages that follow each other; it is a prime.
const stride = 1_000_003

// cold returns pages that differ all: in the end of their range first and, when
// there are no more, in a beginning that lies before all points.
func (s *pageSet) cold(i int64) (string, bool) {
	if i >= MaxRequests {
		return "", false
	}
	n := int64(len(s.kinds))
	k := &s.kinds[i%n]
	i /= n
	window, lap := i*stride%k.windows, i/k.windows
	end := s.last + intervalSeconds[rollup.Day] - window*intervalSeconds[k.interval]
	path := fmt.Sprintf("%s&endTimestamp=%d", s.path(k), end)
	if lap > 0 {
		path += fmt.Sprintf("&startTimestamp=%d", max(s.first-7*intervalSeconds[rollup.Day]-lap, 0))
	}
	return path, true
}

// samples are like the cold pages, one of each kind, and none of them.
func (s *pageSet) samples() []string {
	var all []string
	for i := range s.kinds {
		all = append(all, s.path(&s.kinds[i])+"&startTimestamp=0")
	}
	return all
}

// isPage reports whether a body looks like a page with at least one point, without
// reading all of it: the floor's answers are looked at in the same way.
func isPage(body []byte) bool {
	const longestHead = 1 << 10 // with a page token
	return bytes.Contains(body[:min(len(body), longestHead)], []byte(`"results":[{`)) && bytes.HasSuffix(bytes.TrimSpace(body), []byte("}"))
}

func countPoints(body []byte) int { return bytes.Count(body, []byte(`"timestamp":`)) }
