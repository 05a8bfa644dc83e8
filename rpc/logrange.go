package rpc

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
)

const (
	// maxLogBlocks bounds the range of eth_getLogs. Nodes had a bound of their own, which
	// those that execute blocks after they accepted them no longer heed.
	maxLogBlocks = 10_000
	// blocksPerUnit is how many blocks of the range cost a unit beside the call.
	blocksPerUnit = 20
)

const methodLogs = "eth_getLogs"

// logRange is the range of blocks that a call of eth_getLogs is about.
type logRange struct{ from, to uint64 }

// blocks returns how many there are.
func (r logRange) blocks() uint64 {
	if r.to < r.from {
		return 0
	}
	if r.to-r.from == math.MaxUint64 {
		return math.MaxUint64
	}
	return r.to - r.from + 1
}

// units is what the range costs beside the call.
func (r logRange) units() int { return int(min(r.blocks(), maxLogBlocks) / blocksPerUnit) }

// fault says why the range is too large, in the words of nodes, which clients know; nil if it
// is not.
func (r logRange) fault() *rpcError {
	if r.blocks() <= maxLogBlocks {
		return nil
	}
	return &rpcError{Code: codeServer, Message: fmt.Sprintf("requested too many blocks from %d to %d, maximum is set to %d", r.from, r.to, maxLogBlocks)}
}

// logRange reads the range of a call as a node does. One that a node refuses is empty.
func (s *Service) logRange(call *chainCall, id chain.ID) (r logRange) {
	var args []struct{ FromBlock, ToBlock, BlockHash json.RawMessage }
	if json.Unmarshal(call.params, &args) != nil || len(args) == 0 || len(args[0].BlockHash) > 0 && string(args[0].BlockHash) != "null" {
		return logRange{1, 0}
	}
	from, fromHead, ok := blockNumber(args[0].FromBlock)
	to, toHead, fine := blockNumber(args[0].ToBlock)
	switch {
	case !ok || !fine:
		return logRange{1, 0}
	case fromHead && toHead:
		return logRange{}
	case !fromHead && !toHead:
		return logRange{from, to}
	}
	head, known := uint64(0), false
	if s.cfg.Head != nil {
		head, known = s.cfg.Head(id)
	}
	switch {
	case fromHead && known:
		return logRange{head, to}
	case fromHead: // it has no block, or few: they end in the future
		return logRange{}
	case known:
		return logRange{from, max(from, head)}
	}
	return logRange{from, from + maxLogBlocks - 1} // the most that it may be
}

// blockNumber reads a number of a block, or that it is one near the head.
func blockNumber(raw json.RawMessage) (n uint64, head, ok bool) {
	text := strings.Trim(strings.TrimSpace(string(raw)), `"`)
	switch text {
	case "", "null", "latest", "pending", "safe", "finalized", "accepted":
		return 0, true, true
	case "earliest":
		return 0, false, true
	}
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, false, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, false, err == nil && n <= math.MaxInt64
}
