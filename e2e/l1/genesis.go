package l1

import (
	"encoding/json"
	"strings"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/crypto"
)

// genesisTime is early enough for the warp precompile to be there from the first block.
const genesisTime = "0x5FCB13D0"

// chainGenesis returns the genesis of a chain of subnet-evm that knows warp
// messages, gives the pre-funded key coins and has contracts, by their code.
func chainGenesis(chainID uint64, contracts map[common.Address][]byte) ([]byte, error) {
	const gasLimit = 20_000_000
	rich := crypto.PubkeyToAddress(genesis.EWOQKey.ToECDSA().PublicKey)
	config := map[string]any{
		"chainId": chainID,
		"feeConfig": map[string]uint64{
			"gasLimit": gasLimit, "targetGas": 5 * gasLimit, "minBaseFee": 1e9, "baseFeeChangeDenominator": 48,
			"minBlockGasCost": 0, "maxBlockGasCost": 1e7, "targetBlockRate": 2, "blockGasCostStep": 500_000,
		},
		"warpConfig": map[string]uint64{"blockTimestamp": 1_607_144_400},
	}
	for name := range strings.FieldsSeq("homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul muirGlacier") {
		config[name+"Block"] = 0
	}
	alloc := map[string]any{rich.Hex(): map[string]string{"balance": "0x52B7D2DCC80CD2E4000000"}}
	for address, code := range contracts {
		alloc[address.Hex()] = map[string]string{"balance": "0x0", "code": hexutil.Encode(code)}
	}
	return json.Marshal(map[string]any{
		"config":     config,
		"alloc":      alloc,
		"timestamp":  genesisTime,
		"gasLimit":   "0x1312D00",
		"nonce":      "0x0",
		"extraData":  "0x00",
		"difficulty": "0x0",
		"mixHash":    "0x" + strings.Repeat("0", 64),
		"coinbase":   "0x" + strings.Repeat("0", 40),
		"number":     "0x0",
		"gasUsed":    "0x0",
		"parentHash": "0x" + strings.Repeat("0", 64),
	})
}
