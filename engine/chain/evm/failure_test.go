package evm_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

// word returns a number of one byte as the ABI encodes it.
func word(n byte) string { return strings.Repeat("00", 31) + hex.EncodeToString([]byte{n}) }

func TestReason(t *testing.T) {
	t.Parallel()
	const says, panics = "08c379a0", "4e487b71"
	text := func(s string) string { return says + word(32) + word(byte(len(s))) + hex.EncodeToString([]byte(s)) }
	long := strings.Repeat("61", evm.MaxRevert-4-64)
	for name, c := range map[string]struct{ revert, want string }{
		"none":            {"", ""},
		"text":            {text("no"), ": no"},
		"padded":          {text("no") + strings.Repeat("00", 30), ": no"},
		"empty text":      {text(""), ""},
		"bytes":           {text("\xff\x00"), ": \xff\x00"},
		"half a selector": {"08c3", ""},
		"only a selector": {says, ""},
		"no length":       {says + word(32), ""},
		"other offset":    {says + word(64) + word(1) + word(1) + "61", ""},
		"too short":       {says + word(32) + word(3) + "6161", ""},
		"endless":         {says + word(32) + strings.Repeat("ff", 32) + "61", ""},
		"cut":             {says + word(32) + strings.Repeat("ff", 32) + long, ": " + strings.Repeat("a", len(long)/2) + "…"},
		"overflow":        {panics + word(0x11), ": arithmetic underflow or overflow"},
		"panic 0":         {panics + word(0), ": generic panic"},
		"unknown panic":   {panics + word(0x99), ": unknown panic code: 0x99"},
		"huge panic":      {panics + "01" + strings.Repeat("00", 30) + "11", ": unknown panic code: 0x1" + strings.Repeat("0", 60) + "11"},
		"longer panic":    {panics + word(0x11) + word(0x11), ""},
		"an own error":    {"fb8f41b2" + word(32) + word(2) + "6e6f", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			revert, err := hex.DecodeString(c.revert)
			if err != nil {
				t.Fatal(err)
			}
			f := evm.Failure{Error: "execution reverted", Revert: revert}
			if got := f.Reason(); got != "execution reverted"+c.want {
				t.Errorf("got %q, want %q", got, "execution reverted"+c.want)
			}
		})
	}
}
