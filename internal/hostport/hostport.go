// Package hostport reads hosts and ports as people write them in flags and files, and says
// what is wrong with them. Addresses with a scheme are for package net/url.
package hostport

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// maxName bounds a name, as DNS does.
const maxName = 253

// Host returns a host as listeners and resolvers take it: an IP address, of IPv6 with or
// without the brackets that are needed where a port follows, or a name. The empty one is
// returned as it is.
func Host(s string) (string, error) {
	addr := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		addr = s[1 : len(s)-1]
	}
	if a, err := netip.ParseAddr(addr); err == nil && (addr == s || a.Is6()) {
		return addr, nil
	}
	if s != "" && !isName(s) {
		return "", fmt.Errorf("%q is neither an IP address nor a name", s)
	}
	return s, nil
}

// Port returns a port; 0, by which a listener takes a free one, is one.
func Port(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is no port", s)
	}
	return uint16(n), nil
}

// Split returns the two of HOST:PORT. Whether the host may be empty, which to a listener is
// every address of the machine, and the port 0, is for the caller to say.
func Split(s string) (host string, port uint16, err error) {
	text, after, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not of the form HOST:PORT", s)
	}
	if strings.HasPrefix(s, "[") {
		text = "[" + text + "]"
	}
	if host, err = Host(text); err == nil {
		port, err = Port(after)
	}
	if err != nil {
		return "", 0, fmt.Errorf("%q is not of the form HOST:PORT: %w", s, err)
	}
	return host, port, nil
}

// EndsInNumber reports whether a host that is no IP address is one to some resolvers all the
// same: 2130706433, 0x7f.1 and 127.1 are 127.0.0.1. No domain ends in a number.
func EndsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	digits, hex := strings.CutPrefix(last, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// isName reports whether a host may have a name in DNS or of the machine.
func isName(s string) bool {
	if len(s) > maxName || EndsInNumber(s) {
		return false
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.ContainsFunc(l, isOdd) {
			return false
		}
	}
	return true
}

// isOdd reports whether a character is of no name. Underscores are in those that container
// engines give.
func isOdd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
