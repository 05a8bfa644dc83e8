package platform

import (
	"testing"

	"quorate/engine/chain/chaintest"
)

func FuzzParseTx(f *testing.F) {
	for _, b := range chaintest.Helicon(f, heliconBlocks) {
		for _, tx := range b.Txs {
			f.Add([]byte(tx.Tx))
		}
	}
	chaintest.Fuzz(f, golden(f).Txs, chaintest.Recoder(ParseTx))
}

func FuzzParseBlock(f *testing.F) {
	for _, b := range chaintest.Helicon(f, heliconBlocks) {
		f.Add([]byte(b.Block))
	}
	chaintest.Fuzz(f, golden(f).Blocks, chaintest.Recoder(ParseBlock))
}

func FuzzParseUTXO(f *testing.F) { chaintest.Fuzz(f, golden(f).UTXOs, recodeUTXO) }

func FuzzParseGenesis(f *testing.F) {
	chaintest.Fuzz(f, golden(f).Genesis, chaintest.Recoder(ParseGenesis))
}

func FuzzParseL1Registration(f *testing.F) {
	chaintest.Fuzz(f, golden(f).Registrations, chaintest.Recoder(ParseL1Registration))
}

func FuzzParseL1Weight(f *testing.F) {
	chaintest.Fuzz(f, golden(f).Weights, chaintest.Recoder(ParseL1Weight))
}
