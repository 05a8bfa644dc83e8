// Package forms knows texts by their form: hashes, addresses, IDs and numbers, also as people
// copy them from pages, logs and other explorers.
package forms

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What a text can be.
var (
	Hash    = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F]{64}$`)
	Address = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F]{40}$`)
	Whole   = regexp.MustCompile(`^[0-9]{1,19}$`) // a height
	Node    = regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{20,60}$`)
	ID      = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{40,60}$`) // in CB58
	Bech32  = regexp.MustCompile(`^([PXC]-)?[a-z]{1,20}1[02-9ac-hj-np-z]{38,60}$`)
	// Message is what can only be the bytes of a message.
	Message = regexp.MustCompile(`^(0[xX])?([0-9a-fA-F]{2}){65,}$`)
)

var (
	// nakedNode is a node ID without its prefix, as other explorers have it.
	nakedNode = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{30,36}$`)
	// withSymbol is the name of a token as lists have it: the symbol is behind it.
	withSymbol = regexp.MustCompile(`^(.*\S) \([^()]*\)$`)
	// kindWord stands before what pages print.
	kindWord = regexp.MustCompile(`(?i)^(block|tx|transaction|address|account|token|contract|node|validator|subnet|message|chain) +`)
)

// Meant returns what is meant by a text as people copy it: from a page, with the
// separators of numbers, "#" or a word before it, or the address of another explorer.
func Meant(q string) string {
	q = strings.Trim(strings.TrimSpace(q), "\"'`<>[]{},;")
	if rest := kindWord.ReplaceAllString(q, ""); rest != q && known(Meant(rest)) {
		return Meant(rest) // not the name of a token that begins with such a word
	}
	if u, err := url.Parse(q); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		q = named(u)
	}
	q = strings.TrimSpace(strings.TrimPrefix(q, "#"))
	if digits := strings.Map(withoutSeparators, q); Whole.MatchString(digits) {
		return digits
	}
	if m := withSymbol.FindStringSubmatch(q); m != nil {
		return m[1]
	}
	if nakedNode.MatchString(q) && !Address.MatchString(q) {
		return "NodeID-" + q
	}
	return q
}

// known reports whether a text has the form of something.
func known(q string) bool {
	return slices.ContainsFunc([]*regexp.Regexp{Hash, Address, Whole, Node, ID, Bech32}, func(form *regexp.Regexp) bool { return form.MatchString(q) })
}

// withoutSeparators drops what stands between the digits of a number.
func withoutSeparators(c rune) rune {
	if unicode.IsSpace(c) || c == ',' || c == '_' || c == '\'' || c == '’' {
		return -1
	}
	return c
}

// named returns what the path of an address names: the last part that has the form of
// something, or the last of all.
func named(u *url.URL) string {
	parts := strings.FieldsFunc(u.Path, func(c rune) bool { return c == '/' })
	for _, part := range slices.Backward(parts) {
		if known(part) {
			return part
		}
	}
	if len(parts) == 0 {
		return u.Host
	}
	return parts[len(parts)-1]
}
