package avm

import (
	"testing"

	"quorate/engine/chain/chaintest"
)

func FuzzParseTx(f *testing.F)    { chaintest.Fuzz(f, golden(f).Txs, chaintest.Recoder(ParseTx)) }
func FuzzParseBlock(f *testing.F) { chaintest.Fuzz(f, golden(f).Blocks, chaintest.Recoder(ParseBlock)) }
func FuzzParseVertex(f *testing.F) {
	chaintest.Fuzz(f, golden(f).Vertices, chaintest.Recoder(ParseVertex))
}
func FuzzParseUTXO(f *testing.F) { chaintest.Fuzz(f, golden(f).UTXOs, recodeUTXO) }
func FuzzParseGenesis(f *testing.F) {
	chaintest.Fuzz(f, []chaintest.Encoded{golden(f).Genesis}, recodeGenesis)
}
