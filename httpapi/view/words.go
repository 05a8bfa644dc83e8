package view

import "quorate/engine/index"

// maxTxWords bounds what contracts may say in the row of one transaction, in bytes: in the
// names and symbols of tokens, and as much in the URIs and the metadata of NFTs. What goes
// beyond is left out, for a transaction can move one token thousands of times.
const maxTxWords = 1 << 20

// wordsOfTx counts what contracts said in the row of a transaction. Rows of one token each
// are not bounded: their page ends early.
type wordsOfTx struct {
	bounded          bool
	names, documents int
}

func (t *wordsOfTx) roomForNames() bool { return !t.bounded || t.names < maxTxWords }

func (t *wordsOfTx) roomForDocuments() bool { return !t.bounded || t.documents < maxTxWords }

// names writes a token's name and symbol, which the SDKs demand.
func (w *Writer) names(meta *index.TokenMeta) {
	start, name, symbol := len(w.B), "", ""
	if w.tx.roomForNames() {
		name, symbol = meta.Name, meta.Symbol
	}
	w.demanded("name", name)
	w.demanded("symbol", symbol)
	w.tx.names += len(w.B) - start
}
