package avm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// version is that of all blocks and transactions.
const version = 0

// Lengths of the shortest encodings.
const (
	minBase      = 4 + chain.IDLen + 4 + 4 + 4
	minTx        = 4 + minBase + 4
	minOwners    = 8 + 4 + 4
	minState     = 4 + minOwners
	minInitial   = 4 + 4
	minOperation = chain.IDLen + 4 + 4 + 4
)

// TxKind is the type ID of a transaction.
type TxKind uint32

// The kinds of transactions. The numbers are those of the encoding.
const (
	KindBase        TxKind = 0
	KindCreateAsset TxKind = 1
	KindOperation   TxKind = 2
	KindImport      TxKind = 3
	KindExport      TxKind = 4
)

// kinds holds, by type ID, the name that nodes use and what makes an empty body.
var kinds = [...]struct {
	name string
	body func() Body
}{
	KindBase:        {"BaseTx", func() Body { return new(Base) }},
	KindCreateAsset: {"CreateAssetTx", func() Body { return new(CreateAsset) }},
	KindOperation:   {"OperationTx", func() Body { return new(Operate) }},
	KindImport:      {"ImportTx", func() Body { return new(Import) }},
	KindExport:      {"ExportTx", func() Body { return new(Export) }},
}

func (k TxKind) known() bool { return int(k) < len(kinds) }

// String returns the name that nodes use, as in CreateAssetTx.
func (k TxKind) String() string {
	if !k.known() {
		return fmt.Sprintf("transaction type %d", uint32(k))
	}
	return kinds[k].name
}

// Body is what a transaction does: a pointer to one of the types of this package.
type Body interface {
	// Kind returns the type ID.
	Kind() TxKind
	// Funds returns what the transaction spends and makes.
	Funds() *utxo.Base
	code(*codec.Coder)
}

// Tx is a signed transaction.
type Tx struct {
	// ID is the SHA-256 of the transaction's bytes. Size is their number.
	ID   chain.ID
	Size int

	Body        Body
	Credentials []utxo.Credential

	raw []byte // that it was read from, without the version; nil: it was made otherwise
}

// ParseTx reads a transaction as avm.getTx returns it.
func ParseTx(b []byte) (*Tx, error) {
	tx := new(Tx)
	if err := codec.Decode(b, version, codec.MaxLen, func(c *codec.Coder) { codeTx(c, tx) }); err != nil {
		return nil, fmt.Errorf("X-Chain transaction: %w", err)
	}
	return tx, nil
}

// Bytes returns the form that [ParseTx] reads.
func (tx *Tx) Bytes() ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeTx(c, tx) })
}

// AppendRaw appends what [Tx.Bytes] returns. Of a transaction that was read it appends the
// bytes that were: it must not have been changed.
func (tx *Tx) AppendRaw(dst []byte) ([]byte, error) {
	if tx.raw != nil {
		return append(binary.BigEndian.AppendUint16(dst, version), tx.raw...), nil
	}
	return codec.Append(dst, version, func(c *codec.Coder) { codeTx(c, tx) })
}

// UnsignedBytes returns the bytes whose SHA-256 the credentials sign.
func (tx *Tx) UnsignedBytes() ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeBody(c, &tx.Body) })
}

// codeTx reads or writes a transaction without a version: as in a block. The ID
// covers the version too.
func codeTx(c *codec.Coder, tx *Tx) {
	start := c.Offset()
	codeBody(c, &tx.Body)
	utxo.CodeCredentials(c, &tx.Credentials, true)
	if c.Reading() && c.Err() == nil {
		tx.raw = c.Since(start)
		tx.ID, tx.Size = codec.HashOf(version, tx.raw)
	}
}

func codeBody(c *codec.Coder, body *Body) {
	if codec.Choice(c, body, TxKind.known, func(k TxKind) Body { return kinds[k].body() }) {
		(*body).code(c)
	}
}

// Block is a block of the X-Chain since its linearisation, without the proposer's
// header around it.
type Block struct {
	// ID is the SHA-256 of the block's bytes. Size is their number.
	ID   chain.ID
	Size int

	Parent chain.ID // the first block's is the stop vertex
	Height uint64
	Time   uint64 // Unix seconds
	// MerkleRoot is zero in all blocks so far.
	MerkleRoot chain.ID
	Txs        []Tx
}

// standardBlock is the type ID of the only kind of blocks.
const standardBlock = 20

// ParseBlock reads a block without the proposer's header.
func ParseBlock(raw []byte) (*Block, error) {
	b := &Block{ID: sha256.Sum256(raw), Size: len(raw)}
	if err := codec.Decode(raw, version, codec.MaxLen, b.code); err != nil {
		return nil, fmt.Errorf("X-Chain block: %w", err)
	}
	return b, nil
}

// Bytes returns the form that [ParseBlock] reads.
func (b *Block) Bytes() ([]byte, error) { return codec.Append(nil, version, b.code) }

func (b *Block) code(c *codec.Coder) {
	kind := uint32(standardBlock)
	codec.Type(c, &kind, func(k uint32) bool { return k == standardBlock })
	c.Fixed(b.Parent[:])
	c.Uint64(&b.Height)
	c.Uint64(&b.Time)
	c.Fixed(b.MerkleRoot[:])
	codec.List(c, &b.Txs, minTx, codeTx)
}
