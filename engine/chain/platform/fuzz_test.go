package platform

import (
	"bytes"
	"testing"

	"quorate/engine/chain/chaintest"
)

// fuzz checks that whatever parses encodes to the same bytes.
func fuzz(f *testing.F, seeds []chaintest.Encoded, recode chaintest.Recode) {
	f.Helper()
	for _, e := range seeds {
		f.Add([]byte(e.Bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := recode(b); err == nil && !bytes.Equal(got, b) {
			t.Fatalf("%x round-trips to %x", b, got)
		}
	})
}

func FuzzParseTx(f *testing.F) {
	for _, b := range chaintest.Helicon(f, heliconBlocks) {
		for _, tx := range b.Txs {
			f.Add([]byte(tx.Tx))
		}
	}
	fuzz(f, golden(f).Txs, recoder(ParseTx))
}

func FuzzParseBlock(f *testing.F) {
	for _, b := range chaintest.Helicon(f, heliconBlocks) {
		f.Add([]byte(b.Block))
	}
	fuzz(f, golden(f).Blocks, recoder(ParseBlock))
}

func FuzzParseUTXO(f *testing.F) { fuzz(f, golden(f).UTXOs, recodeUTXO) }

func FuzzParseGenesis(f *testing.F) {
	fuzz(f, golden(f).Genesis, recoder(ParseGenesis))
}

func FuzzParseL1Registration(f *testing.F) {
	fuzz(f, golden(f).Registrations, recoder(ParseL1Registration))
}

func FuzzParseL1Weight(f *testing.F) { fuzz(f, golden(f).Weights, recoder(ParseL1Weight)) }
