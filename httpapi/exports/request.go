package exports

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/operation"
	"quorate/httpapi/door"
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
	exportNames = door.MemberNames{"type", "firstDate", "lastDate", "startDate", "endDate", "options"}
	optionNames = door.MemberNames{"addresses", "includeChains", "compression"}
)

// ParseExport reads the body of an export request. find returns the blockchain ID of a
// chain by any of its names. Errors are of type *failure. Members that it does not know
// go to rest, if it is not nil.
func ParseExport(body []byte, find func(name string) (chain.ID, bool), rest *door.Ignored) (req operation.Request, err error) {
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
	switch options.Kind() {
	case door.Object:
	case door.Absent:
		return req, door.BadRequest("options is required: an object with addresses and includeChains")
	default:
		return req, door.BadRequest("options must be an object, not " + options.Kind().String())
	}
	o, err := knownMembers(options.Raw, &optionNames, rest)
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
		return req, door.BadRequest(fmt.Sprintf("options has %d addresses on %d chains: their product must be at most %d",
			len(req.Addresses), len(req.Chains), operation.MaxLists))
	}
	req.Compression, err = exportCompression(o[optCompression])
	return req, err
}

// knownMembers reads an object.
func knownMembers(body []byte, names *door.MemberNames, rest *door.Ignored) (door.Members, error) {
	var mistyped *door.Failure
	m, err := door.ParseObject(body, names, false, func(name []byte) {
		if mistyped == nil && rest != nil {
			mistyped = rest.Add("member", name, slices.DeleteFunc(slices.Clone(names[:]), func(n string) bool { return n == "" }))
		}
	})
	if err == nil && mistyped != nil {
		err = mistyped
	}
	return m, err
}

func checkType(v door.Value) error {
	switch s := string(v.Bytes()); {
	case v.Kind() == door.Absent:
		return door.BadRequest("type is required: " + typeEVM)
	case v.Kind() != door.Text:
		return door.BadRequest("type must be a string, not " + v.Kind().String())
	case s == typeEVM:
		return nil
	case slices.Contains(otherTypes, s):
		return door.BadRequest("type " + s + " is not supported here; only " + typeEVM + " is")
	default:
		return door.BadRequest("type must be " + typeEVM + ", not " + door.Excerpt(v.Bytes()))
	}
}

// dayForm is the form of dates, besides that of times (RFC 3339).
const dayForm = "2006-01-02"

// parseDates reads the frame of time. firstDate goes before startDate and lastDate before
// endDate; all that are there must be well-formed.
func parseDates(m *door.Members, req *operation.Request) error {
	var times [4]uint64
	for i := range times {
		var err error
		if times[i], err = parseDate(m[expFirst+i], exportNames[expFirst+i], i%2 == 1); err != nil {
			return err
		}
	}
	pick := func(named, deprecated int) (uint64, string) {
		if m[named].Kind() == door.Absent {
			named = deprecated
		}
		return times[named-expFirst], exportNames[named]
	}
	var first, last string
	req.First, first = pick(expFirst, expStart)
	req.Last, last = pick(expLast, expEnd)
	if req.Last != 0 && req.First > req.Last {
		return door.BadRequest(fmt.Sprintf("%s %s is after %s %s", first, operation.FormatTime(req.First), last, operation.FormatTime(req.Last)))
	}
	return nil
}

// parseDate reads a day or a time into Unix milliseconds, 0 if it is absent. A day is its
// first or its last millisecond, UTC.
func parseDate(v door.Value, name string, end bool) (uint64, error) {
	if v.Kind() == door.Absent {
		return 0, nil
	}
	if v.Kind() != door.Text {
		return 0, door.BadRequest(name + " must be a string, not " + v.Kind().String())
	}
	s := string(v.Bytes())
	t, err := time.Parse(dayForm, s)
	if err == nil && end {
		t = t.AddDate(0, 0, 1).Add(-time.Millisecond)
	} else if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	switch {
	case err != nil:
		return 0, door.BadRequest(name + " must be a day like 2024-12-31 or a time like 2024-12-31T23:59:59Z, not " + door.Excerpt(v.Bytes()))
	case t.UnixMilli() < 0:
		return 0, door.BadRequest(name + " must not be before 1970")
	case end:
		return max(1, uint64(t.UnixMilli())), nil // 0 is no bound
	}
	return uint64(t.UnixMilli()), nil
}

// texts calls f with the items of a list of strings, of which there must be some.
func texts(v door.Value, name string, limit int, f func(s []byte) error) error {
	switch v.Kind() {
	case door.Array:
	case door.Absent:
		return door.BadRequest(name + " is required: a list of strings")
	default:
		return door.BadRequest(name + " must be a list of strings, not " + v.Kind().String())
	}
	n := 0
	err := v.Each(func(item door.Value) error {
		if item.Kind() != door.Text {
			return door.BadRequest(name + " must have strings only, not " + item.Kind().String())
		}
		if n++; n > limit {
			return door.BadRequest(fmt.Sprintf("%s has more than %d items", name, limit))
		}
		return f(item.Bytes())
	})
	if err == nil && n == 0 {
		err = door.BadRequest(name + " must not be empty")
	}
	return err
}

func exportAddresses(v door.Value) (list []evm.Address, err error) {
	const name = "options.addresses"
	err = texts(v, name, operation.MaxAddresses, func(s []byte) error {
		var a evm.Address
		if !door.ParseAddress(s, &a) {
			return door.BadRequest(name + ": each " + door.NotAddress(s))
		}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
		return nil
	})
	return list, err
}

func exportChains(v door.Value, find func(name string) (chain.ID, bool)) (list []chain.ID, err error) {
	const name = "options.includeChains"
	err = texts(v, name, operation.MaxChains, func(s []byte) error {
		id, ok := find(string(s))
		if !ok {
			return door.BadRequest(name + ": chain " + door.Excerpt(s) + " is not served here")
		}
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
		return nil
	})
	return list, err
}

func exportCompression(v door.Value) (operation.Compression, error) {
	if v.Kind() == door.Absent {
		return operation.Gzip, nil
	}
	if v.Kind() == door.Text {
		for _, c := range []operation.Compression{operation.Gzip, operation.Zstd} {
			if bytes.Equal(v.Bytes(), []byte(c)) {
				return c, nil
			}
		}
		return "", door.BadRequest("options.compression must be gzip or zstd, not " + door.Excerpt(v.Bytes()))
	}
	return "", door.BadRequest("options.compression must be gzip or zstd, not " + v.Kind().String())
}
