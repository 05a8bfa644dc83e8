package shape

// UTXO is an output. The P-Chain writes it in another form than the X- and the C-Chain:
// which members there are besides those of both depends on the chain.
type UTXO struct {
	Addresses         []string    `json:"addresses"`
	Asset             AssetAmount `json:"asset"`
	CreatedOnChainID  ID          `json:"createdOnChainId"`
	ConsumedOnChainID ID          `json:"consumedOnChainId"`
	ConsumingTxHash   ID          `json:"consumingTxHash,omitempty"`
	UTXOID            ID          `json:"utxoId"`
	UTXOBytes         Hex         `json:"utxoBytes,omitempty"`
	OutputIndex       Figure      `json:"outputIndex"`
	Threshold         int64       `json:"threshold,omitempty"`
	UTXOType          string      `json:"utxoType" enum:"STAKE,TRANSFER,MINT,NFT_MINT,NFT_TRANSFER,PROPERTY_MINT,PROPERTY_OWNED"`

	Amount                  Digits `json:"amount,omitempty" doc:"P-Chain."`
	AssetID                 ID     `json:"assetId,omitempty"`
	BlockNumber             Digits `json:"blockNumber,omitempty"`
	BlockTimestamp          Unix   `json:"blockTimestamp,omitempty"`
	ConsumingBlockNumber    Digits `json:"consumingBlockNumber,omitempty"`
	ConsumingBlockTimestamp Unix   `json:"consumingBlockTimestamp,omitempty"`
	PlatformLocktime        uint64 `json:"platformLocktime,omitempty"`
	StakeableLocktime       uint64 `json:"stakeableLocktime,omitempty"`
	IsStaked                bool   `json:"staked,omitempty"`
	TxHash                  ID     `json:"txHash,omitempty"`

	ConsumingTxTimestamp Unix   `json:"consumingTxTimestamp,omitempty"`
	CreationTxHash       ID     `json:"creationTxHash,omitempty" doc:"X- and C-Chain."`
	GroupID              int64  `json:"groupId,omitempty"`
	Locktime             uint64 `json:"locktime,omitempty"`
	Payload              Hex    `json:"payload,omitempty"`
	Timestamp            Unix   `json:"timestamp,omitempty"`
}

// UTXOs is a page of them.
type UTXOs struct {
	UTXOs []UTXO `json:"utxos"`
	OnChain
	Page
}

// Addresses is the body of requests about addresses.
type Addresses struct {
	Addresses string `json:"addresses" example:"P-avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5" doc:"A comma-separated list of at most 100."`
}

// Asset is what is known of an asset of the X-Chain.
type Asset struct {
	AssetID            ID     `json:"assetId"`
	Name               string `json:"name"`
	Symbol             string `json:"symbol"`
	Denomination       int    `json:"denomination"`
	Type               string `json:"type" enum:"secp256k1,nft"`
	CreatedAtTimestamp Unix   `json:"createdAtTimestamp"`
	Cap                string `json:"cap" enum:"fixed,variable"`
}

// VertexRef says which vertex a transaction stands in.
type VertexRef struct {
	Hash      ID     `json:"hash"`
	Height    uint64 `json:"height"`
	Timestamp Unix   `json:"timestamp"`
}

// BlockchainInfo is what a transaction says of the blockchain that it creates.
type BlockchainInfo struct {
	ChainName   string         `json:"chainName"`
	VMID        ID             `json:"vmId"`
	GenesisData map[string]Any `json:"genesisData,omitempty"`
}

// AccountAmount is what an account of the C-Chain gets or pays.
type AccountAmount struct {
	ToAddress   Address     `json:"toAddress,omitempty"`
	FromAddress Address     `json:"fromAddress,omitempty"`
	Asset       AssetAmount `json:"asset"`
	Credentials []Any       `json:"credentials,omitempty"`
}

// PrimaryTransaction is a transaction of a chain of the primary network. Which members
// there are depends on the chain and on the type.
type PrimaryTransaction struct {
	TxHash        ID     `json:"txHash"`
	TxType        string `json:"txType" doc:"UNKNOWN to the SDKs where they have no name for it."`
	BlockHash     ID     `json:"blockHash,omitempty"`
	ConsumedUTXOs []UTXO `json:"consumedUtxos,omitempty"`
	EmittedUTXOs  []UTXO `json:"emittedUtxos,omitempty"`
	Memo          Hex    `json:"memo,omitempty"`

	BlockTimestamp                 Unix              `json:"blockTimestamp,omitempty" doc:"P-Chain."`
	BlockNumber                    Digits            `json:"blockNumber,omitempty"`
	Value                          []AssetAmount     `json:"value,omitempty"`
	AmountBurned                   []AssetAmount     `json:"amountBurned,omitempty"`
	AmountStaked                   []AssetAmount     `json:"amountStaked,omitempty"`
	AmountL1ValidatorBalanceBurned []AssetAmount     `json:"amountL1ValidatorBalanceBurned,omitempty"`
	StartTimestamp                 Unix              `json:"startTimestamp,omitempty"`
	EndTimestamp                   Unix              `json:"endTimestamp,omitempty"`
	NodeID                         NodeID            `json:"nodeId,omitempty"`
	RewardAddresses                []string          `json:"rewardAddresses,omitempty"`
	EstimatedReward                Digits            `json:"estimatedReward,omitempty"`
	RewardTxHash                   ID                `json:"rewardTxHash,omitempty"`
	DelegationFeePercent           string            `json:"delegationFeePercent,omitempty"`
	SubnetID                       ID                `json:"subnetId,omitempty"`
	BLSCredentials                 *BLSCredentials   `json:"blsCredentials,omitempty"`
	StakingTxHash                  ID                `json:"stakingTxHash,omitempty"`
	SubnetOwnershipInfo            *SubnetOwnership  `json:"subnetOwnershipInfo,omitempty"`
	BlockchainInfo                 *BlockchainInfo   `json:"blockchainInfo,omitempty"`
	L1ValidatorManagerDetails      *ValidatorManager `json:"l1ValidatorManagerDetails,omitempty"`
	L1ValidatorDetails             []L1Registration  `json:"l1ValidatorDetails,omitempty"`
	ValidatorAuthority             *BalanceOwner     `json:"validatorAuthority,omitempty" doc:"Who may change how a validator renews itself."`
	Period                         *uint64           `json:"period,omitempty" doc:"Seconds of its cycles; 0: it stops."`
	AutoCompoundRewardShares       int64             `json:"autoCompoundRewardShares,omitempty" doc:"Share of its rewards that it stakes, of 1,000,000."`

	ChainFormat      string          `json:"chainFormat,omitempty" enum:"linear,non-linear" doc:"X-Chain."`
	Timestamp        Unix            `json:"timestamp,omitempty"`
	BlockHeight      *uint64         `json:"blockHeight,omitempty"`
	AmountUnlocked   []AssetAmount   `json:"amountUnlocked,omitempty"`
	AmountCreated    []AssetAmount   `json:"amountCreated,omitempty"`
	SourceChain      ID              `json:"sourceChain,omitempty"`
	DestinationChain ID              `json:"destinationChain,omitempty"`
	AssetCreated     *Asset          `json:"assetCreated,omitempty"`
	Vertices         []VertexRef     `json:"vertices,omitempty"`
	EVMOutputs       []AccountAmount `json:"evmOutputs,omitempty" doc:"C-Chain."`
	EVMInputs        []AccountAmount `json:"evmInputs,omitempty"`
}

// PrimaryTransactions is a page of them.
type PrimaryTransactions struct {
	Transactions []PrimaryTransaction `json:"transactions"`
	OnChain
	Page
}

// AssetSum is the sum of outputs of an asset.
type AssetSum struct {
	AssetAmount
	UTXOCount         int    `json:"utxoCount"`
	SharedWithChainID ID     `json:"sharedWithChainId,omitempty"`
	Status            string `json:"status,omitempty"`
}

// PrimaryBalances are sums by what can be done with them. Each chain has some of them.
type PrimaryBalances struct {
	UnlockedUnstaked     []AssetSum `json:"unlockedUnstaked,omitempty"`
	UnlockedStaked       []AssetSum `json:"unlockedStaked,omitempty"`
	LockedPlatform       []AssetSum `json:"lockedPlatform,omitempty"`
	LockedStakeable      []AssetSum `json:"lockedStakeable,omitempty"`
	LockedStaked         []AssetSum `json:"lockedStaked,omitempty"`
	PendingStaked        []AssetSum `json:"pendingStaked,omitempty"`
	Locked               []AssetSum `json:"locked,omitempty"`
	Unlocked             []AssetSum `json:"unlocked,omitempty"`
	AtomicMemoryUnlocked []AssetSum `json:"atomicMemoryUnlocked"`
	AtomicMemoryLocked   []AssetSum `json:"atomicMemoryLocked"`
}

// Balances is what addresses have on a chain of the primary network.
type Balances struct {
	Balances PrimaryBalances `json:"balances"`
	OnChain
}

// LastActivity is what addresses did last.
type LastActivity struct {
	Timestamp   Unix   `json:"timestamp"`
	BlockNumber Digits `json:"blockNumber"`
	TxHash      ID     `json:"txHash"`
	UTXOID      string `json:"utxoId,omitempty"`
	IsConsumed  bool   `json:"isConsumed"`
	ChainInfo
}

// AddressChainIDs are the chains that an address has part in.
type AddressChainIDs struct {
	Address       string `json:"address"`
	BlockchainIDs []ID   `json:"blockchainIds"`
}

// ChainIDs are those of addresses.
type ChainIDs struct {
	Addresses []AddressChainIDs `json:"addresses"`
}
