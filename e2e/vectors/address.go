package vectors

import (
	"strings"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	formatting "github.com/ava-labs/avalanchego/utils/formatting/address"
	"github.com/ava-labs/libevm/common/hexutil"
)

// Address is a text that may be an address.
type Address struct {
	Text string `json:"text"`
	Good bool   `json:"good"`
	// What a good one says. Chain is empty where the text has none.
	Chain  string        `json:"chain,omitempty"`
	Prefix string        `json:"prefix,omitempty"`
	Bytes  hexutil.Bytes `json:"bytes,omitempty"`
}

// Addresses holds good and bad texts, and the prefixes of networks.
type Addresses struct {
	Texts    []Address         `json:"texts"`
	Prefixes map[uint32]string `json:"prefixes"`
}

// MakeAddresses makes all of it.
func MakeAddresses() (*Addresses, error) {
	a := &Addresses{Prefixes: make(map[uint32]string)}
	for i, id := range []uint32{0, 1, 2, 3, 4, 5, 6, 10, 1337, 12345, 1 << 31} {
		prefix := constants.GetHRP(id)
		a.Prefixes[id] = prefix
		for k := range 2 {
			text, err := formatting.FormatBech32(prefix, sum("address", i, k).Bytes()[:20])
			if err != nil {
				return nil, err
			}
			a.add(text, "P-"+text, "X-"+text, "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM-"+text, strings.ToUpper(text), "P-"+strings.ToUpper(text))
		}
	}
	good := "avax1" + strings.Split(a.text("avax", 20), "1")[1]
	a.add(good, "", "-", "P-", "avax", "avax1", "1", "P-P-"+good, "-"+good, " "+good, good+" ", good[:len(good)-1], good+"q", good[1:],
		good[:10]+"b"+good[11:], good[:10]+"1"+good[11:], "Avax"+good[4:], good[:20]+strings.ToUpper(good[20:]), strings.Replace(good, "avax", "fuji", 1),
		good[:len(good)-1]+"b", good[:8]+"é"+good[8:], good+"\x00", "0x"+good, strings.Repeat("a", 89)+"1")
	for _, n := range []int{0, 1, 19, 21, 32, 48} {
		a.add(a.text("avax", n), "P-"+a.text("avax", n))
	}
	for i := range good[5:] { // one character changed at each place
		c := byte('q')
		if good[5+i] == c {
			c = 'p'
		}
		a.add(good[:5+i] + string(c) + good[6+i:])
	}
	return a, nil
}

func (a *Addresses) text(prefix string, n int) string {
	text, err := formatting.FormatBech32(prefix, make([]byte, n))
	if err != nil {
		panic(err)
	}
	return text
}

// add adds texts with what avalanchego says of them, with a chain if they have a
// hyphen. An address has 20 bytes.
func (a *Addresses) add(texts ...string) {
	for _, text := range texts {
		t := Address{Text: text}
		var raw []byte
		var err error
		if strings.Contains(text, "-") {
			t.Chain, t.Prefix, raw, err = formatting.Parse(text)
		} else {
			t.Prefix, raw, err = formatting.ParseBech32(text)
		}
		if _, short := ids.ToShortID(raw); err == nil && short == nil {
			t.Good, t.Bytes = true, raw
		} else {
			t = Address{Text: text}
		}
		a.Texts = append(a.Texts, t)
	}
}
