package vectors

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/staking"
	"github.com/ava-labs/avalanchego/vms/proposervm/block"
	"github.com/ava-labs/libevm/common/hexutil"
)

// Proposed is a block with a proposer's header.
type Proposed struct {
	Name  string        `json:"name"`
	Bytes hexutil.Bytes `json:"bytes"`
	// Chain is the chain that it belongs to. Valid: the signature is good there.
	Chain    ids.ID        `json:"chain"`
	Valid    bool          `json:"valid"`
	ID       ids.ID        `json:"id"`
	Parent   ids.ID        `json:"parent"`
	Proposer ids.NodeID    `json:"proposer"`
	Block    hexutil.Bytes `json:"block"`
	// Time and the members behind it are absent from options.
	Time         *int64          `json:"time,omitempty"`
	PChainHeight uint64          `json:"pChainHeight,omitempty"`
	Epoch        json.RawMessage `json:"epoch,omitempty"`
}

// Proposer holds headers of all kinds.
type Proposer struct {
	Headers []Proposed `json:"headers"`
}

// steadySigner signs the same message with the same signature each time.
type steadySigner struct{ *ecdsa.PrivateKey }

// Sign implements crypto.Signer.
func (s steadySigner) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return s.PrivateKey.Sign(nil, digest, opts)
}

// staker is a key made of a seed, with its certificate.
func staker(seed int) (crypto.Signer, *staking.Certificate, error) {
	secret := sum("staker", seed)
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
	if err != nil {
		return nil, nil, err
	}
	signer := steadySigner{key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(seed)), Subject: pkix.Name{CommonName: fmt.Sprint("staker ", seed)},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	cert, err := staking.ParseCertificate(der)
	return signer, cert, err
}

// MakeProposer makes all of it.
func MakeProposer() (*Proposer, error) {
	p := new(Proposer)
	chain, other := ids.ID(sum("chain")), ids.ID(sum("another chain"))
	epoch := block.Epoch{PChainHeight: 41, Number: 7, StartTime: 1_700_000_000}
	for i, e := range []block.Epoch{{}, epoch, {StartTime: -1}} {
		key, cert, err := staker(i)
		if err != nil {
			return nil, err
		}
		parent, at, inner := ids.ID(sum("parent", i)), time.Unix(1_700_000_100+int64(i), 0), sum("inner", i).Bytes()[:i*16]
		unsigned, err := block.BuildUnsigned(parent, at, number("height", i), e, inner)
		if err != nil {
			return nil, err
		}
		signed, err := block.Build(parent, at, number("height", i), e, cert, inner, chain, key)
		if err != nil {
			return nil, err
		}
		option, err := block.BuildOption(parent, inner)
		if err != nil {
			return nil, err
		}
		// The last byte of the second is that of the signature.
		spoilt := append([]byte(nil), signed.Bytes()...)
		spoilt[len(spoilt)-1] ^= 1
		extra := append([]byte(nil), unsigned.Bytes()...)
		extra[len(extra)-1] = 1
		extra = append(extra, 0xff)
		for _, c := range []struct {
			name  string
			raw   []byte
			chain ids.ID
		}{
			{"unsigned", unsigned.Bytes(), chain},
			{"signed", signed.Bytes(), chain},
			{"option", option.Bytes(), chain},
			{"signed for another chain", signed.Bytes(), other},
			{"signature spoilt", spoilt, chain},
			{"signature without a certificate", extra, chain},
		} {
			h, err := header(c.raw, c.chain)
			if err != nil {
				return nil, err
			}
			h.Name = fmt.Sprint(c.name, " ", i)
			p.Headers = append(p.Headers, *h)
		}
	}
	return p, nil
}

// header is what avalanchego reads in raw.
func header(raw []byte, chain ids.ID) (*Proposed, error) {
	b, err := block.ParseWithoutVerification(raw)
	if err != nil {
		return nil, err
	}
	_, err = block.Parse(raw, chain)
	h := &Proposed{Bytes: raw, Chain: chain, Valid: err == nil, ID: b.ID(), Parent: b.ParentID(), Block: b.Block()}
	if s, ok := b.(block.SignedBlock); ok {
		seconds := s.Timestamp().Unix()
		h.Time, h.PChainHeight, h.Proposer = &seconds, s.PChainHeight(), s.Proposer()
		h.Epoch, err = json.Marshal(s.PChainEpoch())
		return h, err
	}
	return h, nil
}
