package evmchain

import (
	"crypto/sha256"
	"encoding/binary"
)

// Type IDs of the C-Chain's codec.
const (
	typeImport         = 0
	typeExport         = 1
	typeTransferInput  = 5
	typeTransferOutput = 7
	typeCredential     = 9

	signatureLen     = 65
	atomicGas        = 10_000 // of each atomic transaction
	gasPerSignature  = 1_000
	atomicFeeNAVAX   = 500_000 // less than a thousandth AVAX
	maxAtomicInBlock = 2
)

// encodeAtomic returns a block's blockExtraData, which holds the atomic
// transactions as the C-Chain has them, and the gas that they used.
func (c *Config) encodeAtomic(b *block) ([]byte, uint64) {
	if len(b.atomic) == 0 {
		return nil, 0
	}
	var gas uint64
	data := binary.BigEndian.AppendUint16(nil, 0)                     // codec version
	data = binary.BigEndian.AppendUint32(data, uint32(len(b.atomic))) // few
	for i := range b.atomic {
		body := c.appendAtomic(nil, b, i)
		gas += uint64(2+len(body)) + gasPerSignature + atomicGas
		data = append(data, body...)
		data = binary.BigEndian.AppendUint32(data, 1) // credentials
		data = binary.BigEndian.AppendUint32(data, typeCredential)
		data = binary.BigEndian.AppendUint32(data, 1) // signatures
		sig := make([]byte, signatureLen)             // nobody's
		putUint64(sig, mix(b.number<<8|uint64(i)))    // few
		data = append(data, sig...)
	}
	return data, gas
}

// appendAtomic appends an unsigned atomic transaction.
func (c *Config) appendAtomic(dst []byte, b *block, i int) []byte {
	a := &b.atomic[i]
	account := b.ledger.accounts[a.account].address
	owner := sha256.Sum256(account[:])
	typ := uint32(typeImport)
	if a.export {
		typ = typeExport
	}
	dst = binary.BigEndian.AppendUint32(dst, typ)
	dst = binary.BigEndian.AppendUint32(dst, c.NetworkID)
	dst = append(dst, c.ID[:]...)
	dst = append(dst, c.PeerChain[:]...)
	dst = binary.BigEndian.AppendUint32(dst, 1) // inputs
	if a.export {
		dst = append(dst, account[:]...)
		dst = binary.BigEndian.AppendUint64(dst, a.nAVAX)
		dst = append(dst, c.AssetID[:]...)
		dst = binary.BigEndian.AppendUint64(dst, a.nonce)
		dst = binary.BigEndian.AppendUint32(dst, 1) // outputs
		dst = append(dst, c.AssetID[:]...)
		dst = binary.BigEndian.AppendUint32(dst, typeTransferOutput)
		dst = binary.BigEndian.AppendUint64(dst, a.nAVAX-atomicFeeNAVAX)
		dst = binary.BigEndian.AppendUint64(dst, 0) // locktime
		dst = binary.BigEndian.AppendUint32(dst, 1) // threshold
		dst = binary.BigEndian.AppendUint32(dst, 1) // addresses
		return append(dst, owner[:20]...)
	}
	utxo := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("utxo"), c.Seed[:]...), b.number<<8|uint64(i))) // few
	dst = append(dst, utxo[:]...)
	dst = binary.BigEndian.AppendUint32(dst, 0) // output index
	dst = append(dst, c.AssetID[:]...)
	dst = binary.BigEndian.AppendUint32(dst, typeTransferInput)
	dst = binary.BigEndian.AppendUint64(dst, a.nAVAX+atomicFeeNAVAX)
	dst = binary.BigEndian.AppendUint32(dst, 1) // signature indices
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, 1) // outputs
	dst = append(dst, account[:]...)
	dst = binary.BigEndian.AppendUint64(dst, a.nAVAX)
	return append(dst, c.AssetID[:]...)
}
