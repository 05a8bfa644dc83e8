package evmrpc

import (
	"strconv"

	"github.com/goccy/go-json"

	"quorate/devnet/evmchain"
	"quorate/devnet/form"
)

// What can be subscribed to.
const (
	subHeads    = "newHeads"
	subLogs     = "logs"
	subAccepted = "newAcceptedTransactions"
)

// subscription is what a connection wants to get.
type subscription struct {
	id, kind string
	filter   evmchain.LogFilter // of logs
}

func (s *subscription) known() bool {
	return s.kind == subHeads || s.kind == subLogs || s.kind == subAccepted
}

// subscribed reads the filter of a subscription to logs.
func (h *node) subscribed(raw json.RawMessage) (f evmchain.LogFilter, err error) {
	var object filterObject
	if err := json.Unmarshal(raw, &object); err != nil {
		return f, invalid("invalid argument 1: %v", err)
	}
	return h.filter(&object)
}

// accepted appends the messages about a block that is accepted.
func (s *subscription) accepted(notes [][]byte, n *node, height uint64) [][]byte {
	if s.kind != subAccepted {
		return notes
	}
	for _, hash := range n.chain.TxHashes(height) {
		notes = append(notes, s.note(n, form.AppendHex(nil, hash[:])))
	}
	return notes
}

// executed appends the messages about a block that is executed.
func (s *subscription) executed(notes [][]byte, n *node, height uint64) [][]byte {
	switch s.kind {
	case subHeads:
		return append(notes, s.note(n, n.chain.AppendHead(nil, height)))
	case subLogs:
		f := s.filter
		f.From, f.To = height, height
		raw, _ := n.chain.AppendLogs(nil, f, maxLogAnswer, n.view())
		var logs []json.RawMessage
		if err := json.Unmarshal(raw, &logs); err != nil {
			return notes // more than anybody takes
		}
		for _, l := range logs {
			notes = append(notes, s.note(n, l))
		}
	}
	return notes
}

func (s *subscription) note(n *node, result []byte) []byte {
	if n.traits.Edit != nil {
		result = n.traits.Edit("eth_subscription", nil, result)
	}
	note := append([]byte(nil), `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":`...)
	note = append(strconv.AppendQuote(note, s.id), `,"result":`...)
	return append(append(note, result...), "}}"...)
}
