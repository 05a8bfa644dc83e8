package ui

import (
	"cmp"
	"math/big"
	"math/bits"
	"net/url"
	"slices"
	"strconv"
	"time"

	"quorate/engine/chain"
)

// defaultQuorum is the share of stake, in percent, that relayers ask for.
const defaultQuorum = 67

// stakeShare is a part of the stake, for a bar.
type stakeShare struct {
	Percent string // exact to two digits, rounded down
	Width   string // of the bar, of 100
}

func shareOf(part, whole uint64) stakeShare {
	if whole == 0 {
		return stakeShare{"unknown", "0"}
	}
	hi, lo := bits.Mul64(min(part, whole), 100_00)
	q, _ := bits.Div64(hi, lo, whole)
	text := strconv.FormatUint(q/100, 10) + "." + strconv.FormatUint(q%100/10, 10) + strconv.FormatUint(q%10, 10)
	return stakeShare{text + "%", text}
}

// meets reports whether a weight is at least percent of the total, without rounding.
func meets(weight, total uint64, percent int) bool {
	have := new(big.Int).Mul(new(big.Int).SetUint64(weight), big.NewInt(100))
	want := new(big.Int).Mul(new(big.Int).SetUint64(total), big.NewInt(int64(percent)))
	return total > 0 && have.Cmp(want) >= 0
}

// prospect is what is left when validators drop.
type prospect struct {
	Dropped   int
	Weight    uint64 // of those that drop and are connected now
	Left      uint64 // connected stake without them
	Total     uint64
	Quorum    int
	Reachable bool
	// Spare is how much more may go, Missing how much is missing to the quorum.
	Spare, Missing uint64
}

// whatIf works out what is left of a set when nodes drop. A key that several nodes sign
// with is lost when none of them is left connected.
func whatIf(set *ValidatorSet, dropped map[chain.NodeID]bool, quorum int) prospect {
	p := prospect{Total: set.Total, Quorum: quorum}
	for i := range set.Entries {
		e := &set.Entries[i]
		before, after := false, false
		for k := range e.Nodes {
			n := &e.Nodes[k]
			if dropped[n.ID] {
				p.Dropped++
			}
			before = before || n.Connected
			after = after || n.Connected && !dropped[n.ID]
		}
		switch {
		case e.Underfunded: // is not asked
		case after:
			p.Left += e.Weight
		case before:
			p.Weight += e.Weight
		}
	}
	p.Reachable = meets(p.Left, p.Total, quorum)
	need := needed(p.Total, quorum)
	if p.Reachable {
		p.Spare = p.Left - need
	} else {
		p.Missing = need - p.Left
	}
	return p
}

// needed is the least weight that meets a quorum.
func needed(total uint64, percent int) uint64 {
	hi, lo := bits.Mul64(total, uint64(min(max(percent, 0), 100)))
	lo, carry := bits.Add64(lo, 99, 0)
	q, _ := bits.Div64(hi+carry, lo, 100)
	return max(q, 1)
}

// column is a column that validators can be sorted by.
type column struct {
	Key, Title string
	Num        bool
	// of returns what the rows are compared by.
	of func(v *validatorRow) int64
}

// validatorRow is a node of a validator set as the table shows it.
type validatorRow struct {
	*ValidatorNode
	Weight      uint64
	Share       stakeShare
	StakeText   string
	Shared      int // other nodes with its key
	Underfunded bool
	Quarantined bool
	Checked     bool // is to drop
	P50Text     string
	P99Text     string
	AwayText    string
	place       int
}

var validatorColumns = []column{
	{"stake", "Stake", true, func(v *validatorRow) int64 { return int64(min(v.Weight, 1<<63-1)) }},
	{"since", "Connected", false, func(v *validatorRow) int64 {
		if !v.Connected {
			return -int64(v.AwayFor)
		}
		return int64(time.Since(v.Since))
	}},
	{"p50", "p50", true, func(v *validatorRow) int64 { return int64(v.P50) }},
	{"p99", "p99", true, func(v *validatorRow) int64 { return int64(v.P99) }},
	{"asked", "Asked", true, func(v *validatorRow) int64 { return int64(v.Asked) }},
	{"refused", "Refused", true, func(v *validatorRow) int64 { return int64(v.Refused) }},
	{"silent", "Silent", true, func(v *validatorRow) int64 { return int64(v.Silent) }},
	{"invalid", "Invalid", true, func(v *validatorRow) int64 { return int64(v.Invalid + v.Violations) }},
}

// sorter is the head of a column with the link that sorts by it.
type sorter struct {
	Title  string
	Num    bool
	Href   string
	Sorted string // "ascending", "descending" or empty
}

// sortRows sorts rows by a column, "-" before its name for the smallest first; rows of
// equal value stay in the order of stake. It returns the column's name as it was
// understood.
func sortRows(rows []validatorRow, by string) string {
	name, ascending := by, false
	if len(by) > 0 && by[0] == '-' {
		name, ascending = by[1:], true
	}
	i := slices.IndexFunc(validatorColumns, func(c column) bool { return c.Key == name })
	if i < 0 {
		i, name, ascending = 0, "stake", false
	}
	of := validatorColumns[i].of
	slices.SortStableFunc(rows, func(a, b validatorRow) int {
		c := cmp.Compare(of(&b), of(&a))
		if ascending {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.place, b.place))
	})
	if ascending {
		return "-" + name
	}
	return name
}

// sorters are the heads of the columns, on a page at path with the rest of its query.
func sorters(path string, q url.Values, by string) []sorter {
	out := make([]sorter, len(validatorColumns))
	for i, c := range validatorColumns {
		s := sorter{Title: c.Title, Num: c.Num}
		to := c.Key
		switch by {
		case c.Key:
			s.Sorted, to = "descending", "-"+c.Key
		case "-" + c.Key:
			s.Sorted = "ascending"
		}
		q.Set("sort", to)
		s.Href = path + "?" + q.Encode()
		out[i] = s
	}
	return out
}

// kindOf is the colour of what is good or bad.
func kindOf(good bool) string {
	if good {
		return "ok"
	}
	return "bad"
}

// levelKind is the colour of a level of the log.
func levelKind(level string) string {
	switch level {
	case "WARN":
		return "warn"
	case "ERROR", "FATAL":
		return "bad"
	}
	return ""
}
