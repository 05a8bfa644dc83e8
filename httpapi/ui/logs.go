package ui

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"quorate/engine/chain/evm"
)

// Log is an event of a contract, as the chain has it. All of it is hex.
type Log struct {
	Index         uint32 // in the block
	Address, Data string
	Topics        []string
}

const (
	// maxLogs bounds the logs that the page of a transaction shows, maxLogData what it
	// shows of the data of one, in hex digits.
	maxLogs    = 100
	maxLogData = 2048
	// logUnits is what the logs of a transaction cost: a block of the archive is read.
	logUnits = 20
)

// shownLog is a log with what is known of it.
type shownLog struct {
	Log
	Event     string // its declaration, empty if none is known
	DataBytes int
	DataMore  bool
}

// knownEvents are declarations of events by their first topic. Others may have the same
// topic by chance or on purpose, so a page says that it is a guess.
var knownEvents = sync.OnceValue(func() map[string]string {
	known := make(map[string]string)
	for _, declaration := range []string{
		"Transfer(address,address,uint256)", "Approval(address,address,uint256)", "ApprovalForAll(address,address,bool)",
		"TransferSingle(address,address,address,uint256,uint256)", "TransferBatch(address,address,address,uint256[],uint256[])", "URI(string,uint256)",
		"MetadataUpdate(uint256)", "BatchMetadataUpdate(uint256,uint256)", "Deposit(address,uint256)", "Withdrawal(address,uint256)",
		"OwnershipTransferred(address,address)", "Upgraded(address)", "RoleGranted(bytes32,address,address)", "Paused(address)", "Unpaused(address)",
		"Swap(address,uint256,uint256,uint256,uint256,address)", "Sync(uint112,uint112)", "Mint(address,uint256,uint256)", "Burn(address,uint256,uint256,address)",
		"SendWarpMessage(address,bytes32,bytes)",
		"SendCrossChainMessage(bytes32,bytes32,(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes),(address,uint256))",
		"ReceiveCrossChainMessage(bytes32,bytes32,address,address,(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes))",
		"MessageExecuted(bytes32,bytes32)",
		"MessageExecutionFailed(bytes32,bytes32,(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes))",
		"ReceiptReceived(bytes32,bytes32,address,(address,uint256))", "BlockchainIDInitialized(bytes32)",
	} {
		known[evm.Keccak([]byte(declaration)).String()] = declaration
	}
	return known
})

// setLogs asks for the logs of the transaction.
func (p *txPage) setLogs(r *Request) error {
	if r.site.cfg.Logs == nil {
		return nil
	}
	r.pay(logUnits)
	if r.poor {
		return nil
	}
	logs, err := r.site.cfg.Logs(string(p.Chain.ChainID), string(p.Tx.BlockNumber), string(p.Tx.TxHash))
	if err != nil {
		if !errors.As(err, &p.LogsRefused) {
			return err
		}
		return nil
	}
	// A log of the precompile is a message that was sent, whatever calls are known.
	p.LogsKnown = true
	p.Warp = slices.ContainsFunc(logs, func(l Log) bool { return strings.EqualFold(l.Address, warpPrecompile) })
	if n := len(logs); n > maxLogs {
		logs, p.MoreLogs = logs[:maxLogs], n-maxLogs
	}
	for _, l := range logs {
		s := shownLog{Log: l, DataBytes: max(0, len(l.Data)-len("0x")) / 2}
		if len(l.Topics) > 0 {
			s.Event = knownEvents()[l.Topics[0]]
		}
		if len(s.Data) > maxLogData {
			s.Data, s.DataMore = s.Data[:maxLogData], true
		}
		p.Logs = append(p.Logs, s)
	}
	return nil
}
