package world

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// What the network begins with. IDs are those of transactions, as on a real network:
// a blockchain has the ID of the transaction that made it, and AVAX that of the one
// that made it in the X-Chain's genesis.

// IDs of the virtual machines and the feature extensions of the X-Chain.
var (
	EVMID   = chain.ID{'e', 'v', 'm'}
	AVMID   = chain.ID{'a', 'v', 'm'}
	L1EVMID = chain.ID{'s', 'u', 'b', 'n', 'e', 't', 'e', 'v', 'm'}

	extensions = []chain.ID{
		{'s', 'e', 'c', 'p', '2', '5', '6', 'k', '1', 'f', 'x'}, {'n', 'f', 't', 'f', 'x'},
		{'p', 'r', 'o', 'p', 'e', 'r', 't', 'y', 'f', 'x'},
	}
)

const (
	// L1EVMChainID is the EVM chain ID of the first L1's chain; the others count on.
	L1EVMChainID = 99_001
	// Accounts is the number of accounts that own the X-Chain's AVAX at genesis.
	Accounts = 128
	// XGenesisAmount is what each of them owns there.
	XGenesisAmount = 200_000 * avax
	// L1Funds is what the owner of each L1 has at genesis: the output of the P-Chain's
	// genesis whose index is the L1's.
	L1Funds = 1000 * avax
	// L1Age is for how long L1s have been converted at the end of the history.
	L1Age = 30 * 24 * 60 * 60 // seconds

	avax        = 1_000_000_000 // nAVAX
	createFee   = avax          // of a subnet or blockchain, until Etna
	convertFee  = avax / 100
	lapsedAfter = 3600 // seconds for which the inactive validators of L1s could pay
)

// founding is what follows from the seed of the primary network.
type founding struct {
	xGenesis []byte
	chains   []platform.Tx // that make the X- and the C-Chain
	avax     chain.ID
}

// Account returns the address of one of those who use the P- and the X-Chain.
func (w *World) Account(i int) address.Address {
	return address.Address(w.bytes("account", uint64(i))[:address.Len]) // not negative
}

// XGenesis returns the X-Chain's genesis data.
func (w *World) XGenesis() []byte { return w.founding.xGenesis }

// GenesisChains returns the transactions that make the X- and the C-Chain. Nobody
// signed them.
func (w *World) GenesisChains() []platform.Tx { return w.founding.chains }

// found makes what the network begins with.
func (w *World) found() error {
	states := make([]utxo.State, Accounts)
	for i := range states {
		states[i] = utxo.State{Kind: utxo.TransferOutput, Amount: XGenesisAmount, Owners: Single(w.Account(i))}
	}
	slices.SortFunc(states, func(a, b utxo.State) int { return slices.Compare(a.Addresses[0][:], b.Addresses[0][:]) })
	create := &avm.CreateAsset{
		Base: utxo.Base{NetworkID: NetworkID, Memo: w.bytes("X-Chain genesis", 0)},
		Name: "Avalanche", Symbol: "AVAX", Denomination: 9, States: []avm.InitialState{{Outputs: states}},
	}
	var err error
	if w.founding.xGenesis, err = avm.GenesisBytes([]avm.GenesisAsset{{Alias: "AVAX", Tx: avm.Tx{Body: create}}}); err != nil {
		return fmt.Errorf("X-Chain genesis: %w", err)
	}
	assets, err := avm.ParseGenesis(w.founding.xGenesis)
	if err != nil {
		return err
	}
	w.founding.avax = assets[0].Tx.ID
	number, err := strconv.ParseUint(EVMChainID, 10, 64)
	if err != nil {
		return fmt.Errorf("EVM chain ID: %w", err)
	}
	for _, c := range []*platform.CreateChain{
		{Name: "X-Chain", VM: AVMID, Extensions: extensions, GenesisData: w.founding.xGenesis},
		{Name: "C-Chain", VM: EVMID, GenesisData: w.EVMGenesis(number)},
	} {
		c.Base = utxo.Base{NetworkID: NetworkID}
		tx, err := Sealed(c, nil)
		if err != nil {
			return err
		}
		w.founding.chains = append(w.founding.chains, tx)
	}
	w.xChain, w.cChain = w.founding.chains[0].ID, w.founding.chains[1].ID
	return nil
}

// EVMGenesis returns the genesis data of an EVM chain, as its VM reads them.
func (w *World) EVMGenesis(number uint64) []byte {
	rich := w.bytes("EVM genesis account", number)[:20]
	return fmt.Appendf(nil, `{"config":{"chainId":%d,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,`+
		`"byzantiumBlock":0,"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"muirGlacierBlock":0},`+
		`"nonce":"0x0","timestamp":"0x0","extraData":"0x00","gasLimit":"0x5f5e100","difficulty":"0x0",`+
		`"mixHash":"0x%064x","coinbase":"0x%040x","alloc":{%q:{"balance":"0x295be96e64066972000000"}},`+
		`"number":"0x0","gasUsed":"0x0","parentHash":"0x%064x"}`, number, 0, 0, hex.EncodeToString(rich), 0)
}

// Single returns the owners of what one address owns.
func Single(a address.Address) utxo.Owners {
	return utxo.Owners{Threshold: 1, Addresses: []address.Address{a}}
}

// Sealed returns a transaction with its ID. For each element of signers it has a
// credential with so many signatures. They have the form of signatures and are none:
// accounts have no keys.
func Sealed(body platform.Body, signers []int) (platform.Tx, error) {
	tx := platform.Tx{Body: body}
	unsigned, err := tx.UnsignedBytes()
	if err != nil {
		return tx, fmt.Errorf("%v: %w", body.Kind(), err)
	}
	tx.Credentials = Credentials(unsigned, signers)
	raw, err := tx.Bytes()
	if err != nil {
		return tx, fmt.Errorf("%v: %w", body.Kind(), err)
	}
	tx.ID, tx.Size = codec.HashOf(0, raw[codec.VersionLen:])
	return tx, nil
}

// Credentials returns what [Sealed] adds to the unsigned bytes of a transaction.
func Credentials(unsigned []byte, signers []int) []utxo.Credential {
	if len(signers) == 0 {
		return nil
	}
	all := make([]utxo.Credential, len(signers))
	seed, _ := codec.HashOf(0, unsigned)
	for i, n := range signers {
		all[i] = utxo.Credential{Kind: utxo.Signatures, Signatures: make([][utxo.SignatureLen]byte, n)}
		for k := range n {
			sig := &all[i].Signatures[k]
			next, _ := codec.HashOf(uint16(k), seed[:]) // few owners
			copy(sig[:], next[:])
			copy(sig[32:], seed[:])
			sig[32] &= 0x7f // the lower half, as for all signatures
			sig[64] = next[0] & 1
			seed = next
		}
	}
	return all
}
