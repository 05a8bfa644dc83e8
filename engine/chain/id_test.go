package chain

import (
	"errors"
	"strings"
	"testing"
)

func TestIDText(t *testing.T) {
	if got := PlatformChainID.String(); got != "11111111111111111111111111111111LpoYY" {
		t.Fatalf("P-Chain ID: got %s", got)
	}
	for _, s := range []string{
		"11111111111111111111111111111111LpoYY",
		"2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM",
		"yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp",
	} {
		id, err := ParseID(s)
		if err != nil || id.String() != s {
			t.Errorf("%s: got %s, %v", s, id, err)
		}
	}
}

func TestNodeIDText(t *testing.T) {
	const s = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
	id, err := ParseNodeID(s)
	if err != nil || id.String() != s {
		t.Fatalf("got %s, %v", id, err)
	}
}

func TestParseIDHexOrCB58(t *testing.T) {
	hexID := strings.Repeat("ab", 32)
	a, err := ParseIDHexOrCB58(hexID)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseIDHexOrCB58("0x" + hexID)
	if err != nil || a != b {
		t.Fatalf("with 0x: %v %v", b, err)
	}
	c, err := ParseIDHexOrCB58(a.String())
	if err != nil || a != c {
		t.Fatalf("as CB58: %v %v", c, err)
	}
}

func TestBadText(t *testing.T) {
	bad := func(s string, want error) {
		t.Helper()
		_, err := ParseIDHexOrCB58(s)
		if err == nil || (want != nil && !errors.Is(err, want)) {
			t.Errorf("%q: got %v, want %v", s, err, want)
		}
	}
	bad("", nil)
	bad("0x12", ErrLength)
	bad("0x"+strings.Repeat("zz", 32), nil)
	bad("11111111111111111111111111111111LpoYZ", ErrChecksum)
	bad("0OIl", nil)
	bad(strings.Repeat("1", 100), ErrLength)
	if _, err := ParseNodeID("11111111111111111111111111111111LpoYY"); err == nil {
		t.Error("node ID without prefix accepted")
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("11111111111111111111111111111111LpoYY")
	f.Add("0x" + strings.Repeat("00", 32))
	f.Add("NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseID(s); err == nil {
			back, err := ParseID(id.String())
			if err != nil || back != id {
				t.Fatalf("%q does not round-trip: %v", s, err)
			}
		}
		if id, err := ParseNodeID(s); err == nil && id.String() != s {
			t.Fatalf("%q gives %s", s, id)
		}
		_, _ = ParseIDHexOrCB58(s)
	})
}
