package ui

import (
	"strings"

	"quorate/httpapi/ui/plain"
)

// stopped says why the index of a chain stands still, by what X-Chain-Gaps says of it: from
// which block on this release cannot read the chain, of when that is, and what a release
// needs that can. It is empty if the chain does not stand still.
func stopped(gaps string) string {
	gap, ok := strings.CutPrefix(gaps, "unreadable ") // what stops the index comes first
	if !ok {
		return ""
	}
	first, rest, _ := strings.Cut(gap, "-")
	text := "block " + plain.Digits(first)
	if _, at, ok := strings.Cut(rest, "; time="); ok {
		at, _, _ = strings.Cut(at, ";")
		at, _, _ = strings.Cut(at, ",")
		text += " of " + at
	}
	text += " and later ones cannot be read by this release of Quorate"
	needs := "it"
	if _, quoted, ok := strings.Cut(rest, `; needs="`); ok {
		needs, _, _ = strings.Cut(quoted, `"`)
	}
	return plain.Text(text+": install one that knows "+needs, 300)
}
