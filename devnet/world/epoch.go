package world

import "quorate/engine/chain"

// Epoch is the epoch that a blockchain is in (ACP-181): until the next one it
// checks messages against the validators at Height.
type Epoch struct {
	Number, Height uint64
	// Start is in Unix seconds.
	Start int64
}

// Epoch returns the epoch of a blockchain. The first one begins with the network.
func (w *World) Epoch(blockchain chain.ID) Epoch {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.epoch(blockchain)
}

func (w *World) epoch(blockchain chain.ID) Epoch {
	if e, ok := w.epochs[blockchain]; ok {
		return e
	}
	return Epoch{Number: 1, Height: w.base, Start: w.GenesisTime().Unix()}
}

// TurnEpoch begins the next epoch of a blockchain, at the height that the P-Chain
// has reached, and returns it. Other chains' epochs go on.
func (w *World) TurnEpoch(blockchain chain.ID) Epoch {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.epoch(blockchain)
	e.Number, e.Height, e.Start = e.Number+1, w.tip(), e.Start+epochSeconds
	w.epochs[blockchain] = e
	return e
}

// epochSeconds is the length of an epoch of a local network.
const epochSeconds = 30
