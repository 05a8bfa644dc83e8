package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// wordLen is the length of an ABI word.
const wordLen = 32

type selector [4]byte

func selectorOf(signature string) selector {
	h := evm.Keccak([]byte(signature))
	return selector(h[:4])
}

func topicOf(signature string) topic {
	h := evm.Keccak([]byte(signature))
	return topic{hash: h, bits: bloomBits(h[:]), known: true}
}

// Topics of the standard events.
var (
	topicTransfer       = topicOf("Transfer(address,address,uint256)")
	topicApproval       = topicOf("Approval(address,address,uint256)")
	topicTransferSingle = topicOf("TransferSingle(address,address,address,uint256,uint256)")
	topicTransferBatch  = topicOf("TransferBatch(address,address,address,uint256[],uint256[])")
	topicSendWarp       = topicOf("SendWarpMessage(address,bytes32,bytes)")
	topicCreated        = topicOf("ContractCreated(address)")
	topicDeposit        = topicOf("Deposit(address,uint256)")
	topicWithdrawal     = topicOf("Withdrawal(address,uint256)")
	topicRebase         = topicOf("Rebase(uint256)")
	topicMetadata       = topicOf("BatchMetadataUpdate(uint256,uint256)") // ERC-4906
)

// Selectors that transactions and calls use.
var (
	selTransfer     = selectorOf("transfer(address,uint256)")
	selTransferFrom = selectorOf("transferFrom(address,address,uint256)")
	selApprove      = selectorOf("approve(address,uint256)")
	selMint         = selectorOf("mint(address,uint256)")
	selBurn         = selectorOf("burn(uint256)")
	selSafeTransfer = selectorOf("safeTransferFrom(address,address,uint256)")
	selSafe1155     = selectorOf("safeTransferFrom(address,address,uint256,uint256,bytes)")
	selSafeBatch    = selectorOf("safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)")
	selMint1155     = selectorOf("mint(address,uint256,uint256,bytes)")
	selMintBatch    = selectorOf("mintBatch(address,uint256[],uint256[],bytes)")
	selBurn1155     = selectorOf("burn(address,uint256,uint256)")
	selAirdrop      = selectorOf("airdrop(address[],uint256)")
	selDisperse     = selectorOf("disperseEther(address[],uint256[])")
	selSwap         = selectorOf("swap(address,address,uint256)")
	selDeploy       = selectorOf("deploy()")
	selDeploy2      = selectorOf("deploy2(bytes32)")
	selDeployNested = selectorOf("deployNested(bytes32)")
	selSendWarp     = selectorOf("sendWarpMessage(bytes)")
	selSend         = selectorOf("send(bytes)")
	selDeposit      = selectorOf("deposit()")
	selWithdraw     = selectorOf("withdraw(uint256)")
	selForward      = selectorOf("wrapAndForward(address)")
	selTrade        = selectorOf("wrapAndTrade(address)")
	selRebase       = selectorOf("rebase(uint256)")
	selRevise       = selectorOf("revise(uint256)")
	selBalanceOf    = selectorOf("balanceOf(address)")
	selBalanceOf2   = selectorOf("balanceOf(address,uint256)")
	selOwnerOf      = selectorOf("ownerOf(uint256)")
	selName         = selectorOf("name()")
	selSymbol       = selectorOf("symbol()")
	selDecimals     = selectorOf("decimals()")
	selSupply       = selectorOf("totalSupply()")
	selSupports     = selectorOf("supportsInterface(bytes4)")
	selTokenURI     = selectorOf("tokenURI(uint256)")
	selURI          = selectorOf("uri(uint256)")
	selError        = selectorOf("Error(string)")
	selNoToken      = selectorOf("ERC721NonexistentToken(uint256)")
)

func appendWord(dst []byte, v *uint256.Int) []byte {
	b := v.Bytes32()
	return append(dst, b[:]...)
}

func appendSmall(dst []byte, v uint64) []byte { return appendWord(dst, uint256.NewInt(v)) }

func appendAddress(dst []byte, a evm.Address) []byte {
	return append(append(dst, make([]byte, wordLen-evm.AddressLen)...), a[:]...)
}

// appendTail appends a dynamic byte string: its length, its bytes, zeros.
func appendTail[B ~string | ~[]byte](dst []byte, b B) []byte {
	dst = appendSmall(dst, uint64(len(b)))
	dst = append(dst, b...)
	return append(dst, make([]byte, (wordLen-len(b)%wordLen)%wordLen)...)
}

// abiBytes is the encoding of one dynamic byte string or text.
func abiBytes[B ~string | ~[]byte](b B) []byte {
	return appendTail(appendSmall(nil, wordLen), b)
}

// errorData is what revert("...") returns.
func errorData(text string) []byte {
	return append(selError[:len(selError):len(selError)], abiBytes(text)...)
}

// calldata starts the input of a call.
func calldata(s selector, words int) []byte {
	return append(make([]byte, 0, len(s)+words*wordLen), s[:]...)
}
