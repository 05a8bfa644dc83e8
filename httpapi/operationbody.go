package httpapi

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/operation"
)

// typeEVM is the only type of export that the contract has; otherTypes are those that
// the SDKs can send besides.
const typeEVM = "TRANSACTION_EXPORT_EVM"

var otherTypes = []string{"TRANSACTION_EXPORT_PRIMARY_NETWORK", "TRANSACTION_EXPORT_PRIMARY_NETWORK_STAKING", "TRANSACTION_EXPORT_PRIMARY_NETWORK_SIMPLE"}

// The members of an export request and of its options, in the order of their names.
const (
	expType = iota
	expFirst
	expLast
	expStart
	expEnd
	expOptions

	optAddresses   = 0
	optChains      = 1
	optCompression = 2
)

var (
	exportNames = memberNames{"type", "firstDate", "lastDate", "startDate", "endDate", "options"}
	optionNames = memberNames{"addresses", "includeChains", "compression"}
)

// parseExport reads the body of an export request. find returns the blockchain ID of a
// chain by any of its names. Errors are of type *failure. Members that it does not know
// go to rest, if it is not nil.
func parseExport(body []byte, find func(name string) (chain.ID, bool), rest *ignored) (req operation.Request, err error) {
	m, err := knownMembers(body, &exportNames, rest)
	if err != nil {
		return req, err
	}
	if err := checkType(m[expType]); err != nil {
		return req, err
	}
	if err := parseDates(&m, &req); err != nil {
		return req, err
	}
	options := m[expOptions]
	switch options.kind() {
	case object:
	case absent:
		return req, badRequest("options is required: an object with addresses and includeChains")
	default:
		return req, badRequest("options must be an object, not " + options.kind().String())
	}
	o, err := knownMembers(options.raw, &optionNames, rest)
	if err != nil {
		return req, err
	}
	if req.Addresses, err = exportAddresses(o[optAddresses]); err != nil {
		return req, err
	}
	if req.Chains, err = exportChains(o[optChains], find); err != nil {
		return req, err
	}
	if n := len(req.Addresses) * len(req.Chains); n > operation.MaxLists {
		return req, badRequest(fmt.Sprintf("options has %d addresses on %d chains: their product must be at most %d",
			len(req.Addresses), len(req.Chains), operation.MaxLists))
	}
	req.Compression, err = exportCompression(o[optCompression])
	return req, err
}

// knownMembers reads an object.
func knownMembers(body []byte, names *memberNames, rest *ignored) (members, error) {
	var mistyped *failure
	m, err := parseObject(body, names, false, func(name []byte) {
		if mistyped == nil && rest != nil {
			mistyped = rest.add("member", name, slices.DeleteFunc(slices.Clone(names[:]), func(n string) bool { return n == "" }))
		}
	})
	if err == nil && mistyped != nil {
		err = mistyped
	}
	return m, err
}

func checkType(v value) error {
	switch s := string(v.bytes()); {
	case v.kind() == absent:
		return badRequest("type is required: " + typeEVM)
	case v.kind() != text:
		return badRequest("type must be a string, not " + v.kind().String())
	case s == typeEVM:
		return nil
	case slices.Contains(otherTypes, s):
		return badRequest("type " + s + " is not supported here; only " + typeEVM + " is")
	default:
		return badRequest("type must be " + typeEVM + ", not " + excerpt(v.bytes()))
	}
}

// dayForm is the form of dates, besides that of times (RFC 3339).
const dayForm = "2006-01-02"

// parseDates reads the frame of time. firstDate goes before startDate and lastDate before
// endDate; all that are there must be well-formed.
func parseDates(m *members, req *operation.Request) error {
	var times [4]uint64
	for i := range times {
		var err error
		if times[i], err = parseDate(m[expFirst+i], exportNames[expFirst+i], i%2 == 1); err != nil {
			return err
		}
	}
	pick := func(named, deprecated int) (uint64, string) {
		if m[named].kind() == absent {
			named = deprecated
		}
		return times[named-expFirst], exportNames[named]
	}
	var first, last string
	req.First, first = pick(expFirst, expStart)
	req.Last, last = pick(expLast, expEnd)
	if req.Last != 0 && req.First > req.Last {
		return badRequest(fmt.Sprintf("%s %s is after %s %s", first, operation.FormatTime(req.First), last, operation.FormatTime(req.Last)))
	}
	return nil
}

// parseDate reads a day or a time into Unix milliseconds, 0 if it is absent. A day is its
// first or its last millisecond, UTC.
func parseDate(v value, name string, end bool) (uint64, error) {
	if v.kind() == absent {
		return 0, nil
	}
	if v.kind() != text {
		return 0, badRequest(name + " must be a string, not " + v.kind().String())
	}
	s := string(v.bytes())
	t, err := time.Parse(dayForm, s)
	if err == nil && end {
		t = t.AddDate(0, 0, 1).Add(-time.Millisecond)
	} else if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	switch {
	case err != nil:
		return 0, badRequest(name + " must be a day like 2024-12-31 or a time like 2024-12-31T23:59:59Z, not " + excerpt(v.bytes()))
	case t.UnixMilli() < 0:
		return 0, badRequest(name + " must not be before 1970")
	case end:
		return max(1, uint64(t.UnixMilli())), nil // 0 is no bound
	}
	return uint64(t.UnixMilli()), nil
}

// texts calls f with the items of a list of strings, of which there must be some.
func texts(v value, name string, limit int, f func(s []byte) error) error {
	switch v.kind() {
	case array:
	case absent:
		return badRequest(name + " is required: a list of strings")
	default:
		return badRequest(name + " must be a list of strings, not " + v.kind().String())
	}
	n := 0
	err := v.each(func(item value) error {
		if item.kind() != text {
			return badRequest(name + " must have strings only, not " + item.kind().String())
		}
		if n++; n > limit {
			return badRequest(fmt.Sprintf("%s has more than %d items", name, limit))
		}
		return f(item.bytes())
	})
	if err == nil && n == 0 {
		err = badRequest(name + " must not be empty")
	}
	return err
}

func exportAddresses(v value) (list []evm.Address, err error) {
	const name = "options.addresses"
	err = texts(v, name, operation.MaxAddresses, func(s []byte) error {
		var a evm.Address
		if !parseAddress(s, &a) {
			return badRequest(name + ": each " + notAddress(s))
		}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
		return nil
	})
	return list, err
}

func exportChains(v value, find func(name string) (chain.ID, bool)) (list []chain.ID, err error) {
	const name = "options.includeChains"
	err = texts(v, name, operation.MaxChains, func(s []byte) error {
		id, ok := find(string(s))
		if !ok {
			return badRequest(name + ": chain " + excerpt(s) + " is not served here")
		}
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
		return nil
	})
	return list, err
}

func exportCompression(v value) (operation.Compression, error) {
	if v.kind() == absent {
		return operation.Gzip, nil
	}
	if v.kind() == text {
		for _, c := range []operation.Compression{operation.Gzip, operation.Zstd} {
			if bytes.Equal(v.bytes(), []byte(c)) {
				return c, nil
			}
		}
		return "", badRequest("options.compression must be gzip or zstd, not " + excerpt(v.bytes()))
	}
	return "", badRequest("options.compression must be gzip or zstd, not " + v.kind().String())
}
