package health

import "slices"

// view is what readers share: the results of one moment, never changed.
type view struct {
	health, readiness section
	tags              map[string]bool // of all checks
}

// section is the part of a view that one kind of report is made from.
type section struct {
	entries []entry // sorted by name
	all     Report  // with every entry, encoded
}

// entry is the last result of a check.
type entry struct {
	name    string
	tags    []string // none: global
	result  Result
	encoded []byte // "name":{result}
}

func newEntry(k Check, r Result) entry {
	encoded := append(appendString(nil, k.Name), ':')
	return entry{name: k.Name, tags: k.Tags, result: r, encoded: r.appendJSON(encoded)}
}

func newView(checks []*check) *view {
	v := &view{tags: map[string]bool{}}
	for _, k := range checks {
		v.health.entries = append(v.health.entries, k.health)
		if k.Readiness {
			v.readiness.entries = append(v.readiness.entries, k.readiness)
		}
		for _, tag := range k.Tags {
			v.tags[tag] = true
		}
	}
	v.health.all = combine(v.health.entries)
	v.readiness.all = combine(v.readiness.entries)
	return v
}

// report returns the results that belong to tags, of which known are those that
// any check has.
func (s *section) report(known map[string]bool, tags []string) Report {
	if len(tags) == 0 {
		return s.all
	}
	asked := make(map[string]bool, len(tags))
	var unknown []string
	for _, tag := range tags {
		if !asked[tag] && !known[tag] && tag != tagAll && tag != tagApplication {
			unknown = append(unknown, tag)
		}
		asked[tag] = true
	}
	r := s.all
	if !asked[tagAll] {
		var entries []entry
		for _, e := range s.entries {
			if len(e.tags) == 0 || slices.ContainsFunc(e.tags, func(tag string) bool { return asked[tag] }) {
				entries = append(entries, e)
			}
		}
		r = combine(entries)
	}
	r.UnknownTags = unknown
	return r
}

// combine makes the report of entries.
func combine(entries []entry) Report {
	r := Report{Checks: make(map[string]Result, len(entries)), Healthy: true}
	size := len(`{"checks":{},"healthy":false}`)
	for _, e := range entries {
		r.Checks[e.name] = e.result
		r.Healthy = r.Healthy && e.result.Error == ""
		size += len(e.encoded) + 1
	}
	b := append(make([]byte, 0, size), `{"checks":{`...)
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.encoded...)
	}
	r.encoded = appendEnd(b, r.Healthy)
	return r
}
