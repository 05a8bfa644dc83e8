package devnet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goccy/go-json"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// Facts lets a client exercise a server without guessing: names and IDs that
// exist. Members whose subject the network does not have are absent.
type Facts struct {
	// BaseURL is where the server of these facts answers.
	BaseURL string `json:"baseUrl"`
	// NodeURL is where the node API of the simulated network answers.
	NodeURL string `json:"nodeUrl"`
	// NodeURLs are those of all node APIs; absent when there is one.
	NodeURLs []string `json:"nodeUrls,omitempty"`
	// Network is the name under which the network is served.
	Network string `json:"network"`
	// ChainID is the EVM chain ID of the C-Chain, also as the metrics name it.
	ChainID        string `json:"chainId"`
	MetricsChainID string `json:"metricsChainId"`
	// BlockchainID is the C-Chain's.
	BlockchainID      string   `json:"blockchainId"`
	NodeIDs           []string `json:"nodeIds,omitempty"`
	BlockchainAliases []string `json:"blockchainAliases,omitempty"`
	BlockchainIDs     []string `json:"blockchainIds,omitempty"`
	SubnetID          string   `json:"subnetId"`
	// RewardAddresses got rewards of the primary network, those that got most of them
	// first; without its history they are absent. They have no chain's alias.
	RewardAddresses []string `json:"rewardAddresses,omitempty"`
	// VertexHeight is that of a vertex of the X-Chain; absent without its history.
	VertexHeight *uint64 `json:"vertexHeight,omitempty"`
	// What follows, up to LastDate, is of the C-Chain's history.
	ChainFacts
	// EVMChains are all EVM chains, the C-Chain first.
	EVMChains  []EVMChainFacts  `json:"evmChains,omitempty"`
	Signature  SignatureFacts   `json:"signature"`
	Validators []ValidatorFacts `json:"validators,omitempty"`
	// L1 is the first L1; absent without one.
	L1 *L1Facts `json:"l1,omitempty"`
	// Liars are the validators that lie. A client needs no help to find them.
	Liars []LiarFacts `json:"liars,omitempty"`
}

// ChainFacts names what an EVM chain's history holds. Addresses have their
// checksums, hashes are hex with 0x.
type ChainFacts struct {
	// Address is an account that takes part in most blocks.
	Address string `json:"address,omitempty"`
	// NFTOwner owns tokens of NFTContract.
	NFTOwner        string `json:"nftOwner,omitempty"`
	ERC20Token      string `json:"erc20Token,omitempty"`
	NFTContract     string `json:"nftContract,omitempty"`
	ERC1155Contract string `json:"erc1155Contract,omitempty"`
	// SpamToken is sent to everybody; HostileToken has a name that is an attack.
	SpamToken    string `json:"spamToken,omitempty"`
	HostileToken string `json:"hostileToken,omitempty"`
	// OddTokens are what careless readers get wrong.
	OddTokens OddTokens `json:"oddTokens,omitzero"`
	// Contract was made by ContractCreator, a contract too.
	Contract        string `json:"contract,omitempty"`
	ContractCreator string `json:"contractCreator,omitempty"`
	// BlockID and BlockNumber are the number of the block with BlockHash, in
	// decimal digits, and TxHash is a transaction in it.
	BlockID     string `json:"blockId,omitempty"`
	BlockHash   string `json:"blockHash,omitempty"`
	BlockNumber string `json:"blockNumber,omitempty"`
	TxHash      string `json:"txHash,omitempty"`
	// FailedTxHash is a transaction that failed, WarpTxHash one with a warp
	// message; absent when there is none.
	FailedTxHash string `json:"failedTxHash,omitempty"`
	WarpTxHash   string `json:"warpTxHash,omitempty"`
	// StartBlock and EndBlock are the first and last block after genesis that
	// were there from the start.
	StartBlock uint64 `json:"startBlock,omitempty"`
	EndBlock   uint64 `json:"endBlock,omitempty"`
	// HolderThreshold is an amount of ERC20Token that some hold more of, and some less.
	HolderThreshold string `json:"holderThreshold,omitempty"`
	// FirstDate and LastDate are the days of genesis and EndBlock, as YYYY-MM-DD;
	// FirstTimestamp and LastTimestamp their times in Unix seconds.
	FirstDate      string `json:"firstDate,omitempty"`
	LastDate       string `json:"lastDate,omitempty"`
	FirstTimestamp int64  `json:"firstTimestamp,omitempty"`
	LastTimestamp  int64  `json:"lastTimestamp,omitempty"`
}

// OddTokens are token contracts, see [evmchain.OddTokens].
type OddTokens struct {
	Wrapped  string `json:"wrapped"`
	Rebasing string `json:"rebasing"`
	Taxed    string `json:"taxed"`
	Phantom  string `json:"phantom"`
	Renamed  string `json:"renamed"`
	Wide     string `json:"wide"`
	Old      string `json:"old"`
	Revealed string `json:"revealed"`
}

// EVMChainFacts is one EVM chain.
type EVMChainFacts struct {
	ChainID      string `json:"chainId"`
	BlockchainID string `json:"blockchainId"`
	SubnetID     string `json:"subnetId"`
	Name         string `json:"name"`
	// RPCURL and WSURL are of the node API.
	RPCURL string `json:"rpcUrl"`
	WSURL  string `json:"wsUrl"`
	ChainFacts
}

// L1Facts is an L1 with a chain of its own.
type L1Facts struct {
	SubnetID     string `json:"subnetId"`
	BlockchainID string `json:"blockchainId"`
	// Messages are unsigned messages of that chain in hex with 0x, which the
	// validators of the subnet sign.
	Messages []string `json:"messages"`
}

// LiarFacts is one validator that lies, and how.
type LiarFacts struct {
	NodeID string `json:"nodeId"`
	Kind   Kind   `json:"kind"`
}

// SignatureFacts is what signature aggregation can be asked for. Byte strings
// are hex with 0x.
type SignatureFacts struct {
	Network string `json:"network"`
	// Message is the first of Messages, all of them unsigned and signable.
	Message  string   `json:"message"`
	Messages []string `json:"messages"`
	// Justification is of a registration that can no longer be made. By itself it
	// says what to sign: that the validation is not registered.
	Justification string `json:"justification"`
	// SigningSubnetID is a subnet whose validators sign Messages.
	SigningSubnetID string `json:"signingSubnetId"`
}

// ValidatorFacts is one validator of the primary network.
type ValidatorFacts struct {
	NodeID string `json:"nodeId"`
	// Weight is the stake in nAVAX, in decimal digits.
	Weight string `json:"weight"`
	// PublicKey is the compressed BLS key in hex with 0x.
	PublicKey string `json:"publicKey"`
	// StakingAddress owns the stake and gets its rewards.
	StakingAddress string `json:"stakingAddress"`
}

// servedAs is the name in the facts: a network that is neither mainnet nor fuji is served as fuji.
const servedAs = "fuji"

// Facts returns the facts of the network as a server at baseURL serves it; empty
// means the node API itself.
func (d *Devnet) Facts(baseURL string) Facts {
	if baseURL == "" {
		baseURL = d.NodeURL()
	}
	w := d.world
	c, x := w.CChainID().String(), w.XChainID().String()
	f := Facts{
		BaseURL: baseURL, NodeURL: d.NodeURL(), Network: servedAs, ChainID: world.EVMChainID, MetricsChainID: world.EVMChainID,
		BlockchainID:      c,
		BlockchainAliases: []string{"P", "X", "C"},
		BlockchainIDs:     []string{chain.PlatformChainID.String(), x, c},
		SubnetID:          chain.PrimaryNetworkID.String(),
		Signature: SignatureFacts{
			Network:         servedAs,
			Justification:   hex0x(world.RegistrationJustification(w.ExpiredRegistration().Append(nil))),
			SigningSubnetID: chain.PrimaryNetworkID.String(),
		},
	}
	if len(d.nodes) > 1 {
		f.NodeURLs = d.NodeURLs()
	}
	f.Signature.Messages = d.messages(d.cfg.Messages, w.Message)
	if l1s := w.L1s(); len(l1s) > 0 {
		f.SubnetID = l1s[0].SubnetID.String()
		f.L1 = &L1Facts{
			SubnetID: f.SubnetID, BlockchainID: l1s[0].ChainID.String(),
			Messages: d.messages(min(d.cfg.Messages, DefaultMessages), func(i uint64) *warp.Unsigned {
				return w.L1Message(l1s[0], i)
			}),
		}
	}
	f.Signature.Message = f.Signature.Messages[0]
	f.EVMChains = d.evmFacts()
	f.ChainFacts = f.EVMChains[0].ChainFacts
	for _, v := range w.Validators()[:d.cfg.Validators] {
		f.NodeIDs = append(f.NodeIDs, v.NodeID.String())
		f.Validators = append(f.Validators, ValidatorFacts{
			NodeID: v.NodeID.String(), Weight: strconv.FormatUint(v.Weight, 10),
			PublicKey: hex0x(v.PublicKey[:]), StakingAddress: v.RewardAddress,
		})
	}
	d.primaryFacts(&f)
	for _, l := range d.liars {
		f.Liars = append(f.Liars, LiarFacts{NodeID: l.NodeID.String(), Kind: l.Kind})
	}
	return f
}

// messages returns the first n messages of a chain, or all when there are fewer.
func (d *Devnet) messages(n int, message func(i uint64) *warp.Unsigned) []string {
	list := make([]string, min(uint64(n), d.world.Emitted())) // not negative
	for i := range list {
		list[i] = hex0x(message(uint64(i)).Bytes()) // not negative
	}
	return list
}

// ExpiredRegistration returns the P-Chain's message that the registration in the
// facts' justification can no longer be made, and that justification.
func (d *Devnet) ExpiredRegistration() (*warp.Unsigned, []byte, error) {
	registration := d.world.ExpiredRegistration().Append(nil)
	justification := world.RegistrationJustification(registration)
	id, err := warp.RegistrationJustification(justification)
	if err != nil {
		return nil, nil, err
	}
	u, err := warp.L1ValidatorRegistration(world.NetworkID, id, false)
	return u, justification, err
}

func hex0x(b []byte) string { return "0x" + hex.EncodeToString(b) }

// Write puts the facts into a file. Who reads it sees all of it, or what was
// there before.
func (f Facts) Write(path string) (err error) {
	body, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".facts.*") // path may be no name of a file
	if err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(append(body, '\n'))
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	if err = os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	return nil
}

// ReadFacts reads what [Facts.Write] wrote.
func ReadFacts(path string) (Facts, error) {
	var f Facts
	body, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("read the facts file: %w", err)
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, fmt.Errorf("facts file %s: %w", path, err)
	}
	return f, nil
}
