package health

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-json"
)

// notYetRun is the error of a check that has had no run yet.
const notYetRun = "not yet run"

// Result is what the last run of a check gave. Its JSON form leaves message out
// when there is none, and error, contiguousFailures and timeOfFirstFailure when
// the check passes. A check that has not run yet is failing, so it has all
// three, with no failures and the zero time.
type Result struct {
	// Message is a JSON object or array with details; nil: none.
	Message json.RawMessage `json:"message,omitempty"`
	// Error says why the check fails; empty: it passes.
	Error string `json:"error,omitempty"`
	// Timestamp is when the run ended.
	Timestamp time.Time `json:"timestamp"`
	// Duration is how long the run took; in JSON nanoseconds.
	Duration time.Duration `json:"duration"`
	// ContiguousFailures counts the failures since the check last passed.
	ContiguousFailures int64 `json:"contiguousFailures,omitempty"`
	// TimeOfFirstFailure is the Timestamp of the first of them.
	TimeOfFirstFailure time.Time `json:"timeOfFirstFailure,omitzero"`
}

// MarshalJSON returns the form described at [Result].
func (r Result) MarshalJSON() ([]byte, error) { return r.appendJSON(nil), nil }

func (r Result) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if len(r.Message) > 0 {
		dst = append(dst, `"message":`...)
		dst = append(dst, r.Message...)
		dst = append(dst, ',')
	}
	if r.Error != "" {
		dst = append(dst, `"error":`...)
		dst = appendString(dst, r.Error)
		dst = append(dst, ',')
	}
	dst = append(dst, `"timestamp":`...)
	dst = appendTime(dst, r.Timestamp)
	dst = append(dst, `,"duration":`...)
	dst = strconv.AppendInt(dst, int64(r.Duration), 10)
	if r.Error != "" {
		dst = append(dst, `,"contiguousFailures":`...)
		dst = strconv.AppendInt(dst, r.ContiguousFailures, 10)
		dst = append(dst, `,"timeOfFirstFailure":`...)
		dst = appendTime(dst, r.TimeOfFirstFailure)
	}
	return append(dst, '}')
}

// Report is a set of results. It is read only: reports share their parts.
type Report struct {
	// Checks are the results by the name of their check.
	Checks map[string]Result `json:"checks"`
	// Healthy reports whether each of them passes.
	Healthy bool `json:"healthy"`
	// UnknownTags are the tags asked for that no check has, each once, in the
	// order asked. They are no part of the JSON form: they warn that the report
	// holds less than the caller may think.
	UnknownTags []string `json:"-"`

	encoded []byte // the JSON form, nil where it is made on demand
}

// AppendJSON appends the JSON form: {"checks":{...},"healthy":...}, the checks
// sorted by name. For a report of a [Checker] this is a copy.
func (r Report) AppendJSON(dst []byte) []byte {
	if r.encoded != nil {
		return append(dst, r.encoded...)
	}
	dst = append(dst, `{"checks":{`...)
	for i, name := range slices.Sorted(maps.Keys(r.Checks)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = r.Checks[name].appendJSON(dst)
	}
	return appendEnd(dst, r.Healthy)
}

// MarshalJSON returns what [Report.AppendJSON] appends.
func (r Report) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

func appendEnd(dst []byte, healthy bool) []byte {
	dst = append(dst, `},"healthy":`...)
	dst = strconv.AppendBool(dst, healthy)
	return append(dst, '}')
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return append(dst, `""`...)
	}
	return append(dst, b...)
}
