package shape

// ChainInfo says which chain of which primary network an answer is about.
type ChainInfo struct {
	ChainName string `json:"chainName" enum:"p-chain,x-chain,c-chain"`
	Network   string `json:"network" enum:"mainnet,fuji,testnet"`
}

// OnChain is what answers about one chain of the primary network end with.
type OnChain struct {
	ChainInfo ChainInfo `json:"chainInfo"`
}

// SubnetOwnership says who owns a subnet.
type SubnetOwnership struct {
	Locktime  uint64   `json:"locktime"`
	Threshold int64    `json:"threshold"`
	Addresses []string `json:"addresses"`
}

// ValidatorManager is the contract that manages the validators of an L1.
type ValidatorManager struct {
	BlockchainID    ID  `json:"blockchainId"`
	ContractAddress Hex `json:"contractAddress"`
}

// Blockchain is a blockchain of a subnet.
type Blockchain struct {
	CreateBlockTimestamp Unix           `json:"createBlockTimestamp"`
	CreateBlockNumber    Digits         `json:"createBlockNumber"`
	BlockchainID         ID             `json:"blockchainId"`
	VMID                 ID             `json:"vmId"`
	SubnetID             ID             `json:"subnetId"`
	BlockchainName       string         `json:"blockchainName"`
	EVMChainID           uint64         `json:"evmChainId" doc:"0 of chains that are not of the EVM."`
	GenesisData          map[string]Any `json:"genesisData,omitempty"`
}

// Subnet is a subnet with its blockchains.
type Subnet struct {
	CreateBlockTimestamp        Unix              `json:"createBlockTimestamp"`
	CreateBlockIndex            Digits            `json:"createBlockIndex"`
	SubnetID                    ID                `json:"subnetId"`
	OwnerAddresses              []string          `json:"ownerAddresses"`
	Threshold                   int64             `json:"threshold"`
	Locktime                    uint64            `json:"locktime"`
	SubnetOwnershipInfo         SubnetOwnership   `json:"subnetOwnershipInfo"`
	IsL1                        bool              `json:"isL1"`
	L1ConversionTransactionHash ID                `json:"l1ConversionTransactionHash,omitempty"`
	L1ValidatorManagerDetails   *ValidatorManager `json:"l1ValidatorManagerDetails,omitempty"`
	Blockchains                 []Blockchain      `json:"blockchains"`
}

// Subnets is a page of them.
type Subnets struct {
	Subnets []Subnet `json:"subnets"`
	Page
}

// Blockchains is a page of them.
type Blockchains struct {
	Blockchains []Blockchain `json:"blockchains"`
	Page
}

// AssetAmount is an amount of an asset. What is not known of it is left out, or empty.
type AssetAmount struct {
	AssetID      ID     `json:"assetId"`
	Name         string `json:"name,omitempty"`
	Symbol       string `json:"symbol,omitempty"`
	Denomination int    `json:"denomination,omitempty"`
	Type         string `json:"type" enum:"secp256k1,nft"`
	Amount       Digits `json:"amount"`
}

// Staked is what rewards have.
type Staked struct {
	Addresses      []string `json:"addresses"`
	TxHash         ID       `json:"txHash"`
	AmountStaked   Digits   `json:"amountStaked"`
	NodeID         NodeID   `json:"nodeId"`
	StartTimestamp Unix     `json:"startTimestamp"`
	EndTimestamp   Unix     `json:"endTimestamp"`
	RewardType     string   `json:"rewardType" enum:"VALIDATOR,DELEGATOR,VALIDATOR_FEE"`
}

// HistoricalReward is one that was paid.
type HistoricalReward struct {
	Staked
	UTXOID       ID          `json:"utxoId"`
	OutputIndex  int         `json:"outputIndex"`
	Reward       AssetAmount `json:"reward"`
	RewardTxHash ID          `json:"rewardTxHash"`
}

// HistoricalRewards is a page of them.
type HistoricalRewards struct {
	HistoricalRewards []HistoricalReward `json:"historicalRewards"`
	Page
}

// PendingReward is one that is expected.
type PendingReward struct {
	Staked
	Progress        float64     `json:"progress" doc:"Per cent of the time that is over."`
	EstimatedReward AssetAmount `json:"estimatedReward"`
}

// PendingRewards is a page of them.
type PendingRewards struct {
	PendingRewards []PendingReward `json:"pendingRewards"`
	Page
}

// Delegator is a delegation. Estimates are of those that are not over.
type Delegator struct {
	TxHash               ID       `json:"txHash"`
	NodeID               NodeID   `json:"nodeId"`
	RewardAddresses      []string `json:"rewardAddresses"`
	AmountDelegated      Digits   `json:"amountDelegated"`
	DelegationFee        string   `json:"delegationFee" doc:"Per cent."`
	StartTimestamp       Unix     `json:"startTimestamp"`
	EndTimestamp         Unix     `json:"endTimestamp"`
	GrossReward          Digits   `json:"grossReward"`
	NetReward            Digits   `json:"netReward"`
	EstimatedGrossReward Digits   `json:"estimatedGrossReward,omitempty"`
	EstimatedNetReward   Digits   `json:"estimatedNetReward,omitempty"`
	DelegationStatus     string   `json:"delegationStatus" enum:"completed,active,pending,removed"`
}

// Delegators is a page of them.
type Delegators struct {
	Delegators []Delegator `json:"delegators"`
	Page
}

// StakerAddresses is a page of those who get the rewards of validators.
type StakerAddresses struct {
	Addresses []struct {
		Addresses []string `json:"addresses"`
		// SortKey is when the validator began, in Unix seconds.
		SortKey Digits `json:"sortKey"`
	} `json:"addresses"`
	Page
}

// BLSCredentials are the key of a validator.
type BLSCredentials struct {
	PublicKey         Hex `json:"publicKey"`
	ProofOfPossession Hex `json:"proofOfPossession,omitempty"`
}

// ValidatorRewards are those of a validation.
type ValidatorRewards struct {
	ValidationRewardAmount Digits   `json:"validationRewardAmount"`
	DelegationRewardAmount Digits   `json:"delegationRewardAmount"`
	RewardAddresses        []string `json:"rewardAddresses"`
	RewardTxHash           ID       `json:"rewardTxHash,omitempty"`
}

// ValidatorHealth is what a node's neighbours find.
type ValidatorHealth struct {
	ReachabilityPercent          float64 `json:"reachabilityPercent"`
	BenchedPChainRequestsPercent float64 `json:"benchedPChainRequestsPercent"`
	BenchedXChainRequestsPercent float64 `json:"benchedXChainRequestsPercent"`
	BenchedCChainRequestsPercent float64 `json:"benchedCChainRequestsPercent"`
}

// Geolocation is where a node is.
type Geolocation struct {
	City      string  `json:"city"`
	Country   string  `json:"country"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Validator is a validation. Which members there are depends on its status.
type Validator struct {
	TxHash            ID                `json:"txHash"`
	NodeID            NodeID            `json:"nodeId"`
	SubnetID          ID                `json:"subnetId"`
	AmountStaked      Digits            `json:"amountStaked"`
	DelegationFee     string            `json:"delegationFee,omitempty" doc:"Per cent."`
	StartTimestamp    Unix              `json:"startTimestamp"`
	EndTimestamp      Unix              `json:"endTimestamp"`
	BLSCredentials    *BLSCredentials   `json:"blsCredentials,omitempty"`
	StakePercentage   *float64          `json:"stakePercentage,omitempty"`
	DelegatorCount    *int64            `json:"delegatorCount,omitempty"`
	AmountDelegated   Digits            `json:"amountDelegated,omitempty"`
	Rewards           *ValidatorRewards `json:"rewards,omitempty"`
	PotentialRewards  *ValidatorRewards `json:"potentialRewards,omitempty"`
	UptimePerformance *float64          `json:"uptimePerformance,omitempty"`
	ValidatorHealth   *ValidatorHealth  `json:"validatorHealth,omitempty"`
	Geolocation       *Geolocation      `json:"geolocation,omitempty" null:"true"`
	AvalancheGoVer    string            `json:"avalancheGoVersion,omitempty"`
	RemoveTxHash      ID                `json:"removeTxHash,omitempty"`
	RemoveTimestamp   Unix              `json:"removeTimestamp,omitempty"`
	ValidationStatus  string            `json:"validationStatus" enum:"completed,active,pending,removed"`

	ValidatorAuthority       *BalanceOwner `json:"validatorAuthority,omitempty" doc:"Who may change how a validator renews itself. Of those that do, start, end and rewards are those of the present cycle, or of the last."`
	NextPeriod               uint64        `json:"nextPeriod,omitempty" doc:"Seconds of its next cycle; 0: it stops."`
	AutoCompoundRewardShares int64         `json:"autoCompoundRewardShares,omitempty" doc:"Share of its rewards that it stakes, of 1,000,000."`
}

// Validators is a page of them.
type Validators struct {
	Validators []Validator `json:"validators"`
	Page
}

// BalanceOwner is who may do something with a validation or its balance.
type BalanceOwner struct {
	Addresses []string `json:"addresses"`
	Threshold int      `json:"threshold"`
}

// L1Registration is a validator of an L1 as what registers it has it.
type L1Registration struct {
	ValidationID     ID             `json:"validationId"`
	ValidationIDHex  Hash           `json:"validationIdHex"`
	NodeID           NodeID         `json:"nodeId"`
	SubnetID         ID             `json:"subnetId"`
	Weight           uint64         `json:"weight"`
	RemainingBalance uint64         `json:"remainingBalance" doc:"In nAVAX."`
	BLSCredentials   BLSCredentials `json:"blsCredentials"`
}

// L1Validator is a validator of an L1.
type L1Validator struct {
	L1Registration
	SecondsLeft           *uint64      `json:"secondsLeft,omitempty" doc:"For how long the balance lasts at today's fee, in seconds."`
	CreationTimestamp     Unix         `json:"creationTimestamp"`
	RemainingBalanceOwner BalanceOwner `json:"remainingBalanceOwner"`
	DeactivationOwner     BalanceOwner `json:"deactivationOwner"`
}

// L1Validators is a page of them.
type L1Validators struct {
	Validators  []L1Validator `json:"validators"`
	BlockHeight Digits        `json:"blockHeight"`
	Page
}

// VersionShare is how much stake runs a version.
type VersionShare struct {
	Version        string `json:"version"`
	AmountStaked   Digits `json:"amountStaked"`
	ValidatorCount int64  `json:"validatorCount"`
}

// ValidatorTotals are sums over the validators of a network.
type ValidatorTotals struct {
	ValidatorCount               int64          `json:"validatorCount"`
	TotalAmountStaked            Digits         `json:"totalAmountStaked"`
	EstimatedAnnualStakingReward string         `json:"estimatedAnnualStakingReward,omitempty"`
	StakingDistributionByVersion []VersionShare `json:"stakingDistributionByVersion"`
	StakingRatio                 string         `json:"stakingRatio,omitempty"`
}

// DelegatorTotals are sums over the delegators of a network.
type DelegatorTotals struct {
	DelegatorCount    int64  `json:"delegatorCount"`
	TotalAmountStaked Digits `json:"totalAmountStaked"`
}

// NetworkDetails are sums over the stakers of a network.
type NetworkDetails struct {
	ValidatorDetails ValidatorTotals `json:"validatorDetails"`
	DelegatorDetails DelegatorTotals `json:"delegatorDetails"`
}

// Proposer is who proposed a block.
type Proposer struct {
	ProposerID           ID      `json:"proposerId,omitempty"`
	ProposerParentID     ID      `json:"proposerParentId,omitempty"`
	ProposerNodeID       NodeID  `json:"proposerNodeId,omitempty"`
	ProposerPChainHeight *uint64 `json:"proposerPChainHeight,omitempty"`
	ProposerTimestamp    Unix    `json:"proposerTimestamp,omitempty"`
}

// PrimaryBlock is a block of a chain of the primary network.
type PrimaryBlock struct {
	BlockNumber             Digits    `json:"blockNumber"`
	BlockHash               ID        `json:"blockHash"`
	ParentHash              ID        `json:"parentHash"`
	BlockTimestamp          Unix      `json:"blockTimestamp"`
	BlockType               string    `json:"blockType"`
	TxCount                 int       `json:"txCount"`
	Transactions            []ID      `json:"transactions"`
	BlockSizeBytes          int       `json:"blockSizeBytes"`
	L1ValidatorsAccruedFees *uint64   `json:"l1ValidatorsAccruedFees,omitempty"`
	ActiveL1Validators      *uint64   `json:"activeL1Validators,omitempty"`
	CurrentSupply           Digits    `json:"currentSupply,omitempty"`
	ProposerDetails         *Proposer `json:"proposerDetails,omitempty"`
}

// PrimaryBlocks is a page of them.
type PrimaryBlocks struct {
	Blocks []PrimaryBlock `json:"blocks"`
	OnChain
	Page
}

// Vertex is a vertex of the X-Chain.
type Vertex struct {
	VertexHash      ID     `json:"vertexHash"`
	ParentHashes    []ID   `json:"parentHashes"`
	VertexHeight    uint64 `json:"vertexHeight"`
	VertexIndex     uint64 `json:"vertexIndex"`
	VertexTimestamp Unix   `json:"vertexTimestamp"`
	TxCount         int    `json:"txCount"`
	Transactions    []ID   `json:"transactions"`
	VertexSizeBytes int    `json:"vertexSizeBytes"`
}

// Vertices is a page of them.
type Vertices struct {
	Vertices []Vertex `json:"vertices"`
	OnChain
	Page
}
