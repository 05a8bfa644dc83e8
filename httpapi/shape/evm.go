package shape

// Money is a price or what something is worth.
type Money struct {
	CurrencyCode string `json:"currencyCode" enum:"usd,eur,aud,cad,chf,clp,cny,czk,dkk,gbp,hkd,huf,jpy,nzd"`
	Value        Figure `json:"value"`
}

// RichAddress is an address with what is known of it.
type RichAddress struct {
	Address  Address `json:"address"`
	Name     string  `json:"name,omitempty"`
	Symbol   string  `json:"symbol,omitempty"`
	Decimals int     `json:"decimals,omitempty"`
	LogoURI  string  `json:"logoUri,omitempty"`
}

// Method is what a transaction calls.
type Method struct {
	CallType   string `json:"callType" enum:"NATIVE_TRANSFER,CONTRACT_CALL,CONTRACT_CREATION"`
	MethodHash string `json:"methodHash" doc:"The selector in hex; empty if the transaction calls no function."`
	MethodName string `json:"methodName,omitempty"`
}

// NativeTransaction is a transaction of an EVM chain.
type NativeTransaction struct {
	BlockNumber                Digits      `json:"blockNumber"`
	BlockTimestamp             Unix        `json:"blockTimestamp"`
	BlockTimestampMilliseconds int64       `json:"blockTimestampMilliseconds,omitempty"`
	BlockHash                  Hash        `json:"blockHash"`
	ChainID                    Digits      `json:"chainId"`
	BlockIndex                 int         `json:"blockIndex"`
	TxHash                     Hash        `json:"txHash"`
	TxStatus                   string      `json:"txStatus" enum:"0,1" doc:"1 is success, 0 failure."`
	TxType                     int         `json:"txType"`
	GasLimit                   Digits      `json:"gasLimit"`
	GasUsed                    Digits      `json:"gasUsed"`
	GasPrice                   Digits      `json:"gasPrice"`
	Nonce                      Digits      `json:"nonce"`
	From                       RichAddress `json:"from"`
	To                         RichAddress `json:"to"`
	Method                     Method      `json:"method"`
	Value                      Digits      `json:"value"`
}

// FullNativeTransaction is one with what only its own page shows.
type FullNativeTransaction struct {
	NativeTransaction
	Input                Hex    `json:"input"`
	BaseFeePerGas        Digits `json:"baseFeePerGas"`
	MaxFeePerGas         Digits `json:"maxFeePerGas,omitempty"`
	MaxPriorityFeePerGas Digits `json:"maxPriorityFeePerGas,omitempty"`
	FailureReason        string `json:"failureReason,omitempty" doc:"Why it failed, as the node that traced it answered, with the text of Error(string) or the meaning of Panic(uint256). Absent of transactions that were indexed before this was kept, or without a trace."`
	RevertData           Hex    `json:"revertData,omitempty" doc:"What the failed call returned: at most its first 1,024 bytes."`
}

// EVMBlock is a block of an EVM chain. What is not known of it is an empty string.
type EVMBlock struct {
	ChainID                    Digits `json:"chainId"`
	BlockNumber                Digits `json:"blockNumber"`
	BlockTimestamp             Unix   `json:"blockTimestamp"`
	BlockTimestampMilliseconds int64  `json:"blockTimestampMilliseconds,omitempty"`
	BlockHash                  Hash   `json:"blockHash"`
	TxCount                    int    `json:"txCount"`
	BaseFee                    Digits `json:"baseFee"`
	GasUsed                    Digits `json:"gasUsed"`
	GasLimit                   Digits `json:"gasLimit"`
	GasCost                    string `json:"gasCost" doc:"The block gas cost of the header."`
	ParentHash                 Hash   `json:"parentHash"`
	FeesSpent                  string `json:"feesSpent" doc:"What was paid for the gas of its transactions, in wei."`
	CumulativeTransactions     string `json:"cumulativeTransactions" doc:"Transactions up to the block, from the first block of the chain's sums on."`
	ReservedGas                Digits `json:"reservedGas,omitempty" doc:"Gas that the header sets aside, of blocks that are executed after they are accepted (ACP-194): gasUsed is what they used."`
	ReservedBaseFee            Digits `json:"reservedBaseFee,omitempty" doc:"The header's base fee, in wei, which is an upper bound there: baseFee is what was paid."`
	SettledHeight              Digits `json:"settledHeight,omitempty" doc:"The last block whose results are proven by this block's header."`
}

// EVMBlocks is a page of them.
type EVMBlocks struct {
	Blocks []EVMBlock `json:"blocks"`
	Page
}

// NFTMetadata are those that a token's URI leads to.
type NFTMetadata struct {
	IndexStatus                  string `json:"indexStatus" enum:"UNKNOWN,MISSING_TOKEN,INVALID_TOKEN_URI,INVALID_TOKEN_URI_SCHEME,UNREACHABLE_TOKEN_URI,THROTTLED_TOKEN_URI,METADATA_CONTENT_TOO_LARGE,INVALID_METADATA,INVALID_METADATA_JSON,INDEXED,UNINDEXED"`
	MetadataLastUpdatedTimestamp Unix   `json:"metadataLastUpdatedTimestamp,omitempty"`
	Name                         string `json:"name,omitempty"`
	Symbol                       string `json:"symbol,omitempty"`
	ImageURI                     string `json:"imageUri,omitempty"`
	Description                  string `json:"description,omitempty"`
	AnimationURI                 string `json:"animationUri,omitempty"`
	ExternalURL                  string `json:"externalUrl,omitempty"`
	Background                   string `json:"background,omitempty"`
	Attributes                   string `json:"attributes,omitempty" doc:"JSON; of ERC-721."`
	Decimals                     int    `json:"decimals,omitempty" doc:"Of ERC-1155."`
	Properties                   string `json:"properties,omitempty" doc:"JSON; of ERC-1155."`
}

// ERC20Token is a fungible token. What its contract does not say is left out, or empty.
type ERC20Token struct {
	Address  Address `json:"address"`
	Name     string  `json:"name,omitempty"`
	Symbol   string  `json:"symbol,omitempty"`
	Decimals int     `json:"decimals,omitempty"`
	LogoURI  string  `json:"logoUri,omitempty"`
	ERCType  string  `json:"ercType" enum:"ERC-20"`
	Price    *Money  `json:"price,omitempty"`
}

// ERC721Token is an NFT.
type ERC721Token struct {
	Address      Address     `json:"address"`
	Name         string      `json:"name,omitempty"`
	Symbol       string      `json:"symbol,omitempty"`
	ERCType      string      `json:"ercType" enum:"ERC-721"`
	TokenID      Digits      `json:"tokenId"`
	TokenURI     string      `json:"tokenUri,omitempty"`
	Metadata     NFTMetadata `json:"metadata"`
	OwnerAddress Address     `json:"ownerAddress,omitempty"`
}

// ERC1155Token is a token of a contract that has several.
type ERC1155Token struct {
	Address  Address     `json:"address"`
	ERCType  string      `json:"ercType" enum:"ERC-1155"`
	TokenID  Digits      `json:"tokenId"`
	TokenURI string      `json:"tokenUri,omitempty"`
	Metadata NFTMetadata `json:"metadata"`
}

// Moved is what all transfers have.
type Moved struct {
	From     RichAddress `json:"from"`
	To       RichAddress `json:"to"`
	LogIndex int         `json:"logIndex"`
}

// ERC20Transfer is a transfer within a transaction.
type ERC20Transfer struct {
	Moved
	Value      Digits     `json:"value"`
	ERC20Token ERC20Token `json:"erc20Token"`
}

// ERC721Transfer is a transfer within a transaction.
type ERC721Transfer struct {
	Moved
	ERC721Token ERC721Token `json:"erc721Token"`
}

// ERC1155Transfer is a transfer within a transaction.
type ERC1155Transfer struct {
	Moved
	Value        Digits       `json:"value"`
	ERC1155Token ERC1155Token `json:"erc1155Token"`
}

// InternalTransaction is a call below that of a transaction.
type InternalTransaction struct {
	From           RichAddress `json:"from"`
	To             RichAddress `json:"to"`
	InternalTxType string      `json:"internalTxType" enum:"UNKNOWN,CALL,CREATE,CREATE2,CREATE3,CALLCODE,DELEGATECALL,STATICCALL"`
	Value          Digits      `json:"value"`
	IsReverted     bool        `json:"isReverted"`
	GasUsed        Digits      `json:"gasUsed"`
	GasLimit       Digits      `json:"gasLimit"`
}

// Parts are what happened in a transaction. Internal transactions are absent where no node
// traces them.
type Parts struct {
	ERC20Transfers       []ERC20Transfer       `json:"erc20Transfers"`
	ERC721Transfers      []ERC721Transfer      `json:"erc721Transfers"`
	ERC1155Transfers     []ERC1155Transfer     `json:"erc1155Transfers"`
	InternalTransactions []InternalTransaction `json:"internalTransactions,omitempty"`
}

// TransactionDetails is a transaction with its transfers.
type TransactionDetails struct {
	NativeTransaction NativeTransaction `json:"nativeTransaction"`
	Parts
}

// NetworkToken is the coin of a chain.
type NetworkToken struct {
	Name        string `json:"name"`
	Symbol      string `json:"symbol"`
	Decimals    int    `json:"decimals"`
	LogoURI     string `json:"logoUri,omitempty"`
	Description string `json:"description,omitempty"`
}

// NetworkTokenDetails is the coin with its price.
type NetworkTokenDetails struct {
	NetworkToken    NetworkToken `json:"networkToken"`
	CurrentPrice    *Money       `json:"currentPrice,omitempty"`
	HistoricalPrice *Money       `json:"historicalPrice,omitempty"`
}

// SingleTransaction is all that is known of a transaction.
type SingleTransaction struct {
	NativeTransaction   FullNativeTransaction `json:"nativeTransaction"`
	NetworkTokenDetails NetworkTokenDetails   `json:"networkTokenDetails"`
	Parts
	TeleporterMessageInfo *ICMInfo `json:"teleporterMessageInfo,omitempty" doc:"Of the first interchain message that the transaction sent or received."`
}

// Transactions is a page of transactions with their transfers.
type Transactions struct {
	Transactions []TransactionDetails `json:"transactions"`
	Page
}

// NativeTransactions is a page of transactions.
type NativeTransactions struct {
	Transactions []NativeTransaction `json:"transactions"`
	Page
}

// InBlock says where a row stands.
type InBlock struct {
	BlockNumber                Digits `json:"blockNumber"`
	BlockTimestamp             Unix   `json:"blockTimestamp"`
	BlockTimestampMilliseconds int64  `json:"blockTimestampMilliseconds,omitempty"`
	BlockHash                  Hash   `json:"blockHash"`
	TxHash                     Hash   `json:"txHash"`
}

// Transfer is a transfer of any standard: one of the tokens is there, and value but for
// ERC-721.
type Transfer struct {
	InBlock
	Moved
	Value        Digits        `json:"value,omitempty"`
	ERC20Token   *ERC20Token   `json:"erc20Token,omitempty"`
	ERC721Token  *ERC721Token  `json:"erc721Token,omitempty"`
	ERC1155Token *ERC1155Token `json:"erc1155Token,omitempty"`
}

// Transfers is a page of the transfers of a token.
type Transfers struct {
	Transfers []Transfer `json:"transfers"`
	Page
}

// TransferTransactions is a page of the transfers of an address.
type TransferTransactions struct {
	Transactions []Transfer `json:"transactions"`
	Page
}

// InternalTransactionDetails is an internal transaction with its place.
type InternalTransactionDetails struct {
	InBlock
	InternalTransaction
}

// InternalTransactions is a page of internal transactions.
type InternalTransactions struct {
	Transactions []InternalTransactionDetails `json:"transactions"`
	Page
}

// NativeTokenBalance is a balance in the chain's own coin.
type NativeTokenBalance struct {
	Name         string `json:"name"`
	Symbol       string `json:"symbol"`
	Decimals     int    `json:"decimals"`
	LogoURI      string `json:"logoUri,omitempty"`
	ChainID      Digits `json:"chainId"`
	Price        *Money `json:"price,omitempty"`
	Balance      Digits `json:"balance"`
	BalanceValue *Money `json:"balanceValue,omitempty"`
}

// NativeBalance is that of an address.
type NativeBalance struct {
	NativeTokenBalance NativeTokenBalance `json:"nativeTokenBalance"`
}

// ERC20Balance is a balance in a fungible token.
type ERC20Balance struct {
	ERC20Token
	ChainID            Digits `json:"chainId"`
	Balance            Digits `json:"balance"`
	BalanceValue       *Money `json:"balanceValue,omitempty"`
	BalanceSource      string `json:"balanceSource,omitempty" enum:"contract,transfers" doc:"Where a balance is from that is not the sum of transfers."`
	BalanceBlockNumber Digits `json:"balanceBlockNumber,omitempty"`
	TokenReputation    string `json:"tokenReputation,omitempty" null:"true" doc:"Malicious or Benign; null or absent if unknown."`
}

// ERC20Balances is a page of them.
type ERC20Balances struct {
	NativeBalance
	ERC20TokenBalances []ERC20Balance `json:"erc20TokenBalances"`
	Page
}

// ERC721Balance is an NFT that an address owns.
type ERC721Balance struct {
	ERC721Token
	ChainID       Digits `json:"chainId"`
	BalanceSource string `json:"balanceSource,omitempty" enum:"transfers" doc:"There if transfers do not tell who has what of the contract: one cannot have been, or not all are indexed."`
}

// ERC721Balances is a page of them.
type ERC721Balances struct {
	NativeBalance
	ERC721TokenBalances []ERC721Balance `json:"erc721TokenBalances"`
	Page
}

// ERC1155Balance is what an address has of an ERC-1155 token.
type ERC1155Balance struct {
	ERC1155Token
	ChainID       Digits `json:"chainId"`
	Balance       Digits `json:"balance"`
	BalanceSource string `json:"balanceSource,omitempty" enum:"transfers" doc:"There if transfers do not tell who has what of the contract: one cannot have been, or not all are indexed."`
}

// ERC1155Balances is a page of them.
type ERC1155Balances struct {
	NativeBalance
	ERC1155TokenBalances []ERC1155Balance `json:"erc1155TokenBalances"`
	Page
}

// Collectible is what an address has of an ERC-721 or an ERC-1155 token.
type Collectible struct {
	NFT
	ChainID       Digits `json:"chainId"`
	Balance       Digits `json:"balance,omitempty" doc:"Of ERC-1155."`
	BalanceSource string `json:"balanceSource,omitempty" enum:"transfers"`
}

// Collectibles is a page of them.
type Collectibles struct {
	CollectibleBalances []Collectible `json:"collectibleBalances"`
	Page
}

// NFT is a token of either standard: only ERC-721 has a name, a symbol and an owner.
type NFT struct {
	Address      Address     `json:"address"`
	Name         string      `json:"name,omitempty"`
	Symbol       string      `json:"symbol,omitempty"`
	ERCType      string      `json:"ercType" enum:"ERC-721,ERC-1155"`
	TokenID      Digits      `json:"tokenId"`
	TokenURI     string      `json:"tokenUri,omitempty"`
	Metadata     NFTMetadata `json:"metadata"`
	OwnerAddress Address     `json:"ownerAddress,omitempty"`
}

// NFTs is a page of the tokens of a contract.
type NFTs struct {
	Tokens []NFT `json:"tokens"`
	Page
}

// UtilityAddresses are those of contracts that are of use to all.
type UtilityAddresses struct {
	Multicall Address `json:"multicall,omitempty"`
}

// ChainGap is a range of blocks of which something is missing.
type ChainGap struct {
	Kind      string `json:"kind" doc:"What is missing, such as untraced, below-start or unsummed."`
	FromBlock Digits `json:"fromBlock"`
	ToBlock   Digits `json:"toBlock"`
	Reason    string `json:"reason"`
}

// Chain is an EVM chain that is followed.
type Chain struct {
	ChainID          Digits            `json:"chainId"`
	Status           string            `json:"status" enum:"OK,UNAVAILABLE"`
	ChainName        string            `json:"chainName"`
	Description      string            `json:"description"`
	PlatformChainID  string            `json:"platformChainId,omitempty"`
	SubnetID         string            `json:"subnetId,omitempty"`
	VMID             string            `json:"vmId,omitempty"`
	VMName           string            `json:"vmName" enum:"EVM,BITCOIN,ETHEREUM"`
	ExplorerURL      string            `json:"explorerUrl,omitempty"`
	RPCURL           string            `json:"rpcUrl"`
	WSURL            string            `json:"wsUrl,omitempty"`
	IsTestnet        bool              `json:"isTestnet"`
	UtilityAddresses *UtilityAddresses `json:"utilityAddresses,omitempty"`
	NetworkToken     NetworkToken      `json:"networkToken"`
	ChainLogoURI     string            `json:"chainLogoUri,omitempty"`
	Private          bool              `json:"private"`
	EnabledFeatures  []string          `json:"enabledFeatures" enum:"nftIndexing,webhooks,teleporter"`
	SettledHeight    Digits            `json:"settledHeight,omitempty" doc:"The last block whose results a header has proven, of chains that execute blocks after they accept them: those of later blocks are a node's word."`
	Gaps             []ChainGap        `json:"gaps,omitempty"`
}

// Chains is the list of them.
type Chains struct {
	Chains []Chain `json:"chains"`
}

// AddressChains are the chains of an address.
type AddressChains struct {
	IndexedChains   []Chain  `json:"indexedChains"`
	UnindexedChains []string `json:"unindexedChains,omitempty" doc:"Chains whose index has no block yet."`
}

// DeploymentDetails say how a contract was made.
type DeploymentDetails struct {
	TxHash                  Hash    `json:"txHash"`
	DeployerAddress         Address `json:"deployerAddress"`
	DeployerContractAddress Address `json:"deployerContractAddress,omitempty"`
}

// ImageAsset is where a picture is.
type ImageAsset struct {
	ImageURI string `json:"imageUri,omitempty"`
}

// Contract is what is known of a contract.
type Contract struct {
	Name              string             `json:"name,omitempty"`
	Address           Address            `json:"address"`
	DeploymentDetails *DeploymentDetails `json:"deploymentDetails,omitempty"`
	LogoAsset         *ImageAsset        `json:"logoAsset,omitempty"`
	ERCType           string             `json:"ercType" enum:"ERC-20,ERC-721,ERC-1155,UNKNOWN"`
	Symbol            string             `json:"symbol,omitempty"`
	Decimals          *int               `json:"decimals,omitempty"`
}

// Contracts is a page of them.
type Contracts struct {
	Contracts []Contract `json:"contracts"`
	Page
}
