package oracle

import (
	"cmp"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/crypto"
)

const icmMessage = "(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes)"

var (
	// icmMessenger is where TeleporterMessenger lies on all chains.
	icmMessenger = common.HexToAddress("0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf")
	icmSent      = crypto.Keccak256Hash([]byte("SendCrossChainMessage(bytes32,bytes32," + icmMessage + ",(address,uint256))"))
	icmReceived  = crypto.Keccak256Hash([]byte("ReceiveCrossChainMessage(bytes32,bytes32,address,address," + icmMessage + ")"))
)

// interchain returns what a transaction's answer says of the first interchain message
// that it sent or received, nil if there is none.
func (f *forms) interchain(t *Tx) object {
	for _, l := range t.receipt.Logs {
		if l.Address != icmMessenger || len(l.Topics) < 3 {
			continue
		}
		peer := ids.ID(l.Topics[2]).String()
		o := object{"teleporterMessageId": l.Topics[1].Hex()}
		switch l.Topics[0] {
		case icmSent:
			o["direction"], o["destinationChainId"] = "SOURCE_TRANSACTION", cmp.Or(f.numbers[peer], peer)
		case icmReceived:
			o["direction"], o["sourceChainId"] = "DESTINATION_TRANSACTION", cmp.Or(f.numbers[peer], peer)
		default:
			continue
		}
		return o
	}
	return nil
}
