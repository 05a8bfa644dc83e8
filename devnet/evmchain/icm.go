package evmchain

import (
	"quorate/devnet/traffic"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
)

// Calls of the messenger.
var (
	selSendICM    = selectorOf("sendCrossChainMessage((bytes32,address,(address,uint256),uint256,address[],bytes))")
	selReceiveICM = selectorOf("receiveCrossChainMessage(uint32,address)")
)

const (
	gasSendICM    = 154_300
	gasReceiveICM = 231_800
	gasPerReceipt = 28_000
)

func (c *Config) hasTraffic() bool { return c.Traffic != nil && len(c.Traffic.Chains) > 1 }

// traffic plans the block's interchain messages.
func (p *planner) traffic() {
	if !p.cfg.hasTraffic() {
		return
	}
	fork := uint32(p.variant) // small
	p.build.accounts = p.ledger.accounts
	for i := range p.build.steps(p.height, fork) {
		p.add(&op{kind: opICM, from: treasury, id: uint32(i), b: fork}) // few
	}
}

// steps returns what the plan says of a block.
func (b *builder) steps(height uint64, fork uint32) []traffic.Step {
	return b.cfg.Traffic.Steps(&traffic.Local{
		Chain: b.cfg.TrafficIndex, Token: b.address(contractAccount(cToken)), Sender: b.address(treasury), Fork: fork,
	}, height)
}

// icm has the messenger do something.
func (b *builder) icm(o *op) {
	step := &b.steps(b.height, o.b)[o.id]
	first := &step.Events[0]
	if step.Warp == nil {
		b.open(messenger, nil, appendAddress(appendSmall(calldata(selReceiveICM, 2), 0), first.Relayer))
		b.tx.gasUsed = gasReceiveICM + gasPerReceipt*uint64(len(step.Events)-1) // not negative
	} else {
		b.open(messenger, nil, append(calldata(selSendICM, 0), first.Message.Append(nil)...))
		b.tx.gasUsed = gasSendICM
	}
	for i := range step.Events {
		b.messenger(&step.Events[i])
	}
	if step.Warp != nil {
		id := step.Warp.ID()
		input := append(calldata(selSendWarp, 0), abiBytes(first.Message.Append(nil))...)
		b.sub(1, evm.CallPlain, messenger, warpPrecompile, nil, input, 45_000).output = id[:]
		sender := b.account(messenger)
		b.emit(warpPrecompile, abiBytes(step.Warp.Bytes()), topicSendWarp, sender.topic(), topic{hash: evm.Hash(id)})
	}
	b.touch(messenger)
}

// messenger emits what the messenger logs.
func (b *builder) messenger(e *icm.Event) {
	log := e.Log()
	topics := make([]topic, len(log.Topics))
	for i := range topics {
		topics[i].hash = log.Topics[i]
	}
	b.emit(messenger, log.Data, topics...)
}
