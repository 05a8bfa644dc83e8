package evmrpc

import (
	"strings"
	"testing"
)

// TestHashesOfCoreth: the hashes that the other tests work out are those that
// coreth gives a block and its transaction.
func TestHashesOfCoreth(t *testing.T) {
	t.Parallel()
	zeros := "0x" + strings.Repeat("0", 64)
	to := "0x0d3ab14bbad3d99f4203bd7a11acb94882050e7e"
	b := jsonBlock{
		BaseFeePerGas: "0x1", BlobGasUsed: "0x0", BlockGasCost: "0x0", Difficulty: "0x1", ExcessBlobGas: "0x0", ExtDataGasUsed: "0x0",
		ExtDataHash: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
		ExtraData:   "0x000000000098447800000000000052080000000000000000", GasLimit: "0x989680", GasUsed: "0x5208",
		Hash:      "0xcff199da2c1c619b9caf41ccae69db6ea642f6bb358e031a4aaf9aa9bf2c5b4e",
		LogsBloom: "0x" + strings.Repeat("0", 512), MinDelayExcess: "0x799d4c", Miner: zeroAddr, MixHash: zeros, Nonce: "0x0000000000000000",
		Number: "0x9", ParentBeaconBlockRoot: zeros,
		ParentHash:   "0xf02eac9a15b7f85237acdda86edbf9b05782a71524ecc96d92d5eed37408e4f1",
		ReceiptsRoot: "0x056b23fbba480696b65fe5a59b8f2148a1299103c4f57df839233af2cf4ca2d2",
		Sha3Uncles:   "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
		StateRoot:    "0x0079c4f658ca6481223860cbe48a032a7b54de44ef980b1aa9b6be2859663fa4", Timestamp: "0x5a", TimestampMilliseconds: "0x15f90",
		TransactionsRoot: "0xf3f69c61b639254ec6538351b9edaebce124270a70dd2d7fbc8d197b2a7cd928",
	}
	if got := hashText(headerHash(t, &b, true)); got != b.Hash {
		t.Errorf("block %s, want %s", got, b.Hash)
	}
	x := jsonTx{
		Gas: "0x5208", GasPrice: "0x1", Input: "0x", Nonce: "0x8", To: &to, Value: "0x3e8", Type: "0x0", V: "0x1b",
		R: "0x405203de7391198cd3dd1bfc2b12201053a799be421d74a5d3bc1338e75abfed",
		S: "0x683e95bab8c6c2d757bdd5cd0d75dc2bc9e54d9066023935a5d2b93281bfd0a3",
	}
	if got := hashText(txHash(t, &x)); got != "0x788f1d9b6ab5314ca3157e4e514b602d3d9cf98773402749cd0ea73d4f373330" {
		t.Errorf("transaction %s", got)
	}
}
