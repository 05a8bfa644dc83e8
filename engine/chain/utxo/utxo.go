// Package utxo holds what the P- and the X-Chain build transactions from: outputs,
// inputs that spend them, the owners who may, and the credentials by which they do.
// The feature extensions secp256k1fx, nftfx and propertyfx have the same type IDs on
// both chains, so that an output can be exported from one and imported to the other.
// Source: vms/components/avax, vms/secp256k1fx, vms/nftfx, vms/propertyfx and
// vms/platformvm/stakeable of avalanchego v1.14.2.
package utxo

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/codec"
)

// Kind is the type ID of an output, an input, a credential, an operation or an
// authorization.
type Kind uint32

// The kinds. The numbers are those of the encoding.
const (
	TransferInput        Kind = 5
	MintOutput           Kind = 6 // X-Chain only, as all up to 20 but 5, 7 and 9
	TransferOutput       Kind = 7
	MintOperation        Kind = 8
	Signatures           Kind = 9
	NFTMintOutput        Kind = 10
	NFTTransferOutput    Kind = 11
	NFTMintOperation     Kind = 12
	NFTTransferOperation Kind = 13
	NFTSignatures        Kind = 14
	PropertyMintOutput   Kind = 15
	PropertyOwnedOutput  Kind = 16
	PropertyMintOp       Kind = 17
	PropertyBurnOp       Kind = 18
	PropertySignatures   Kind = 19

	// On the P-Chain 10 and 11 are other types.
	PlatformAuth    Kind = 10
	PlatformOwners  Kind = 11
	StakeableInput  Kind = 21
	StakeableOutput Kind = 22
)

// SignatureLen is the length of a recoverable secp256k1 signature.
const SignatureLen = 65

// Lengths of the shortest encodings.
const (
	minOwners     = 8 + 4 + 4
	minOutput     = chain.IDLen + 4 + 8 + minOwners
	minInput      = chain.IDLen + 4 + chain.IDLen + 4 + 8 + 4
	minCredential = 4 + 4
	// MinUTXO is that of a UTXO.
	MinUTXO = chain.IDLen + 4 + chain.IDLen + 4 + minOwners
	// MinRef is the length of a reference.
	MinRef = chain.IDLen + 4
)

// Ref names an output by the transaction that made it.
type Ref struct {
	TxID  chain.ID
	Index uint32
}

// ID returns the ID of the output: the SHA-256 of its index as 64 bits and the
// transaction's ID.
func (r Ref) ID() chain.ID {
	var b [8 + chain.IDLen]byte
	binary.BigEndian.PutUint64(b[:], uint64(r.Index))
	copy(b[8:], r.TxID[:])
	return sha256.Sum256(b[:])
}

// CodeRef reads or writes r.
func CodeRef(c *codec.Coder, r *Ref) {
	c.Fixed(r.TxID[:])
	c.Uint32(&r.Index)
}

// Owners says who may spend an output: any Threshold of the addresses, from
// Locktime on.
type Owners struct {
	Locktime  uint64 // Unix seconds
	Threshold uint32
	Addresses []address.Address
}

// CodeOwners reads or writes o without a type ID.
func CodeOwners(c *codec.Coder, o *Owners) {
	c.Uint64(&o.Locktime)
	c.Uint32(&o.Threshold)
	CodeAddresses(c, &o.Addresses)
}

// CodePlatformOwners reads or writes o with the type ID that it has on the P-Chain.
func CodePlatformOwners(c *codec.Coder, o *Owners) {
	codeKind(c, PlatformOwners)
	CodeOwners(c, o)
}

// CodeAddresses reads or writes a list of addresses.
func CodeAddresses(c *codec.Coder, list *[]address.Address) {
	codec.List(c, list, address.Len, func(c *codec.Coder, a *address.Address) { c.Fixed(a[:]) })
}

// CodeIDs reads or writes a list of IDs.
func CodeIDs(c *codec.Coder, list *[]chain.ID) {
	codec.List(c, list, chain.IDLen, func(c *codec.Coder, id *chain.ID) { c.Fixed(id[:]) })
}

// codeKind reads or writes a type ID that has to be this one.
func codeKind(c *codec.Coder, want Kind) {
	k := want
	codec.Type(c, &k, func(k Kind) bool { return k == want })
}

// Auth proves a permission: the positions of those owners whose signatures the
// credential holds.
type Auth struct {
	Indices []uint32
}

// CodeAuth reads or writes a without a type ID.
func CodeAuth(c *codec.Coder, a *Auth) {
	codec.List(c, &a.Indices, 4, (*codec.Coder).Uint32)
}

// CodePlatformAuth reads or writes a with the type ID that it has on the P-Chain.
func CodePlatformAuth(c *codec.Coder, a *Auth) {
	codeKind(c, PlatformAuth)
	CodeAuth(c, a)
}

// Credential holds the signatures for one input, operation or authorization.
type Credential struct {
	Kind       Kind // Signatures, NFTSignatures or PropertySignatures
	Signatures [][SignatureLen]byte
}

// CodeCredentials reads or writes those of a transaction; extensions allows for
// those of nftfx and propertyfx.
func CodeCredentials(c *codec.Coder, list *[]Credential, extensions bool) {
	allowed := func(k Kind) bool {
		return k == Signatures || extensions && (k == NFTSignatures || k == PropertySignatures)
	}
	codec.List(c, list, minCredential, func(c *codec.Coder, cred *Credential) {
		codec.Type(c, &cred.Kind, allowed)
		codec.List(c, &cred.Signatures, SignatureLen, func(c *codec.Coder, s *[SignatureLen]byte) { c.Fixed(s[:]) })
	})
}

// Input spends an output.
type Input struct {
	Ref
	Asset chain.ID
	// StakeLock is that of the output if it is still locked; zero otherwise.
	StakeLock uint64
	Amount    uint64
	Auth
}

// CodeInputs reads or writes inputs; stakeable allows for locked ones.
func CodeInputs(c *codec.Coder, list *[]Input, stakeable bool) {
	codec.List(c, list, minInput, func(c *codec.Coder, in *Input) {
		CodeRef(c, &in.Ref)
		c.Fixed(in.Asset[:])
		codeStakeLock(c, &in.StakeLock, TransferInput, StakeableInput, stakeable)
		c.Uint64(&in.Amount)
		CodeAuth(c, &in.Auth)
	})
}

// codeStakeLock reads or writes the type ID plain, or that of a lock with its end
// and then plain. The chain refuses a lock that ends at zero and one within another.
func codeStakeLock(c *codec.Coder, lock *uint64, plain, locked Kind, stakeable bool) {
	kind := plain
	if *lock != 0 && !c.Reading() {
		kind = locked
	}
	codec.Type(c, &kind, func(k Kind) bool { return k == plain || stakeable && k == locked })
	if kind != locked || c.Err() != nil {
		return
	}
	if c.Uint64(lock); *lock == 0 {
		c.Fail(fmt.Errorf("%w: stake locked until 0", codec.ErrValue))
	}
	codeKind(c, plain)
}

// Base is what nearly all transactions start with.
type Base struct {
	NetworkID uint32
	ChainID   chain.ID
	Outputs   []Output
	Inputs    []Input
	Memo      []byte
}

// Funds returns b: what embeds it has funds.
func (b *Base) Funds() *Base { return b }

// CodeBase reads or writes b; stakeable allows for locked outputs and inputs.
func CodeBase(c *codec.Coder, b *Base, stakeable bool) {
	c.Uint32(&b.NetworkID)
	c.Fixed(b.ChainID[:])
	CodeOutputs(c, &b.Outputs, stakeable)
	CodeInputs(c, &b.Inputs, stakeable)
	c.Bytes(&b.Memo)
}
