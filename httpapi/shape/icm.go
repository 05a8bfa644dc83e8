package shape

// ICMMessage is an interchain message.
type ICMMessage struct {
	MessageID                 Hash            `json:"messageId"`
	ICMContractAddress        Address         `json:"icmContractAddress,omitempty"`
	TeleporterContractAddress Address         `json:"teleporterContractAddress,omitempty" doc:"In the answers of /v1/teleporter, in the place of icmContractAddress."`
	SourceBlockchainID        ID              `json:"sourceBlockchainId"`
	DestinationBlockchainID   ID              `json:"destinationBlockchainId"`
	SourceEVMChainID          string          `json:"sourceEvmChainId" doc:"Empty for a chain that is not followed."`
	DestinationEVMChainID     string          `json:"destinationEvmChainId" doc:"Empty for a chain that is not followed."`
	MessageNonce              Digits          `json:"messageNonce"`
	From                      Address         `json:"from"`
	To                        Address         `json:"to"`
	Data                      Hex             `json:"data"`
	RequiredGasLimit          Digits          `json:"requiredGasLimit"`
	AllowedRelayerAddresses   []Address       `json:"allowedRelayerAddresses" doc:"Who may deliver the message; empty for everybody."`
	MessageExecuted           bool            `json:"messageExecuted"`
	MessageExecutionFailed    bool            `json:"messageExecutionFailed" doc:"It failed when it was delivered, whether or not a retry had success."`
	Receipts                  []ICMReceipt    `json:"receipts" doc:"Of messages that went the other way."`
	ReceiptDelivered          bool            `json:"receiptDelivered"`
	RewardDetails             ICMReward       `json:"rewardDetails"`
	SourceTransaction         *ICMTransaction `json:"sourceTransaction,omitempty"`
	DestinationTransaction    *ICMDelivery    `json:"destinationTransaction,omitempty"`
	RetryTransaction          *ICMTransaction `json:"retryTransaction,omitempty" doc:"Where the execution had success that failed at first."`
	ReceiptTransaction        *ICMTransaction `json:"receiptTransaction,omitempty" doc:"Where the source chain got the receipt."`
	Signature                 *ICMSignature   `json:"signature,omitempty"`
	Status                    string          `json:"status" enum:"pending,delivered,delivered_source_not_indexed"`
}

// ICMReceipt says that a message was delivered.
type ICMReceipt struct {
	ReceivedMessageNonce Digits  `json:"receivedMessageNonce"`
	RelayerRewardAddress Address `json:"relayerRewardAddress"`
}

// ICMReward is what the delivery of a message pays.
type ICMReward struct {
	Address  Address `json:"address"`
	Name     string  `json:"name"`
	Symbol   string  `json:"symbol"`
	Decimals int     `json:"decimals"`
	ERCType  string  `json:"ercType" enum:"ERC-20"`
	Value    Digits  `json:"value"`
}

// ICMTransaction is a transaction of a message.
type ICMTransaction struct {
	TxHash    Hash   `json:"txHash"`
	Timestamp Unix   `json:"timestamp"`
	GasSpent  Digits `json:"gasSpent" doc:"In the smallest unit of the chain's coin."`
}

// ICMDelivery is the one that delivered it.
type ICMDelivery struct {
	ICMTransaction
	RewardRedeemer   Address `json:"rewardRedeemer"`
	DelivererAddress Address `json:"delivererAddress"`
}

// ICMSignature is the state of the warp message that carries a message.
type ICMSignature struct {
	WarpMessageID     ID     `json:"warpMessageId"`
	Signed            bool   `json:"signed" doc:"Whether this server has it signed."`
	SignedMessagePath string `json:"signedMessagePath" doc:"Where it is answered, signed."`
}

// ICMMessages is a page of them.
type ICMMessages struct {
	Messages []ICMMessage `json:"messages"`
	Page
}

// ICMInfo is what a transaction says of its message.
type ICMInfo struct {
	TeleporterMessageID Hash   `json:"teleporterMessageId"`
	Direction           string `json:"direction" enum:"SOURCE_TRANSACTION,DESTINATION_TRANSACTION"`
	SourceChainID       string `json:"sourceChainId,omitempty" doc:"Of a destination transaction: the chain by number, or by ID if it is not followed."`
	DestinationChainID  string `json:"destinationChainId,omitempty" doc:"Of a source transaction: as sourceChainId."`
}

// ICMChains name what a figure is of; all stands for all chains.
type ICMChains struct {
	SrcBlockchainID  string `json:"srcBlockchainId"`
	DestBlockchainID string `json:"destBlockchainId"`
}

// ICMWindows is how many messages there were in windows that end now.
type ICMWindows struct {
	LastHour   int64 `json:"lastHour"`
	LastDay    int64 `json:"lastDay"`
	LastWeek   int64 `json:"lastWeek"`
	LastMonth  int64 `json:"lastMonth" doc:"30 days."`
	Last90Days int64 `json:"last90Days"`
	LastYear   int64 `json:"lastYear" doc:"365 days."`
	AllTime    int64 `json:"allTime"`
	ICMChains
}

// ICMSummary has them of all together, and with groupBy of each group.
type ICMSummary struct {
	Result  ICMWindows   `json:"result"`
	Results []ICMWindows `json:"results,omitempty"`
}

// ICMPoint is how many messages there were in an interval.
type ICMPoint struct {
	Value     int64 `json:"value"`
	Timestamp Unix  `json:"timestamp"`
	ICMChains
}

// ICMPoints is a page of them.
type ICMPoints struct {
	Results []ICMPoint `json:"results"`
	Page
}

// ICMNumber is a number of messages.
type ICMNumber struct {
	Result struct {
		Value int64 `json:"value"`
	} `json:"result"`
}
