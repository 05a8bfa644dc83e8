package utxo

import (
	"quorate/engine/chain"
	"quorate/engine/chain/codec"
)

// State is what an output holds. Members that its kind does not have are zero.
type State struct {
	Kind   Kind
	Amount uint64 // TransferOutput
	Group  uint32 // NFTMintOutput, NFTTransferOutput
	// Payload is what an NFT stands for.
	Payload []byte // NFTTransferOutput
	Owners
}

// StateKind reports whether k is the kind of an output.
func StateKind(k Kind) bool {
	switch k {
	case MintOutput, TransferOutput, NFTMintOutput, NFTTransferOutput, PropertyMintOutput, PropertyOwnedOutput:
		return true
	}
	return false
}

// CodeState reads or writes s, of any kind that the X-Chain has, with its type ID.
func CodeState(c *codec.Coder, s *State) {
	codec.Type(c, &s.Kind, StateKind)
	s.code(c)
}

// CodeStateAs reads or writes s without a type ID: its kind follows from the place.
func CodeStateAs(c *codec.Coder, s *State, kind Kind) {
	if c.Reading() {
		s.Kind = kind
	}
	s.code(c)
}

func (s *State) code(c *codec.Coder) {
	switch s.Kind {
	case TransferOutput:
		c.Uint64(&s.Amount)
	case NFTMintOutput:
		c.Uint32(&s.Group)
	case NFTTransferOutput:
		c.Uint32(&s.Group)
		c.Bytes(&s.Payload)
	}
	CodeOwners(c, &s.Owners)
}

// Output is an amount of an asset that a transaction makes.
type Output struct {
	Asset chain.ID
	// StakeLock is the time in Unix seconds until which the amount can only be
	// staked; zero without such a lock.
	StakeLock uint64
	State
}

func codeAmount(c *codec.Coder, o *Output, stakeable bool) {
	codeStakeLock(c, &o.StakeLock, TransferOutput, StakeableOutput, stakeable)
	CodeStateAs(c, &o.State, TransferOutput)
}

// CodeOutputs reads or writes outputs of a transaction, which are amounts;
// stakeable allows for locked ones.
func CodeOutputs(c *codec.Coder, list *[]Output, stakeable bool) {
	codec.List(c, list, minOutput, func(c *codec.Coder, o *Output) {
		c.Fixed(o.Asset[:])
		codeAmount(c, o, stakeable)
	})
}

// UTXO is an output with its name: as nodes keep it while it is not spent.
type UTXO struct {
	Ref
	Output
}

// CodeUTXO reads or writes u without a version, as the P-Chain does if platform is
// set and otherwise as the X-Chain.
func CodeUTXO(c *codec.Coder, u *UTXO, platform bool) {
	CodeRef(c, &u.Ref)
	c.Fixed(u.Asset[:])
	if platform {
		codeAmount(c, &u.Output, true)
	} else {
		CodeState(c, &u.State)
	}
}

// ParseUTXO reads a UTXO as platform.getUTXOs and avm.getUTXOs return it.
func ParseUTXO(b []byte, platform bool) (*UTXO, error) {
	u := new(UTXO)
	if err := u.Decode(b, platform); err != nil {
		return nil, err
	}
	return u, nil
}

// Decode reads what [ParseUTXO] reads into u, which must be zero. After an error u is of
// no use.
func (u *UTXO) Decode(b []byte, platform bool) error {
	return codec.Decode(b, 0, codec.MaxLen, func(c *codec.Coder) { CodeUTXO(c, u, platform) })
}

// Bytes returns the form that [ParseUTXO] reads.
func (u *UTXO) Bytes(platform bool) ([]byte, error) { return u.Append(nil, platform) }

// Append appends the form that [ParseUTXO] reads.
func (u *UTXO) Append(dst []byte, platform bool) ([]byte, error) {
	return codec.Append(dst, 0, func(c *codec.Coder) { CodeUTXO(c, u, platform) })
}
