// Package evm answers about EVM chains: their blocks, transactions, addresses, contracts and
// tokens, of one chain and of all.
//
// # Data of EVM chains
//
// A chain is named by its EVM chain number, blockchain ID or an alias. Addresses
// and hashes are taken in any case, and addresses given with their checksum.
// What the answers look like, and the two dialects of it, is told in package
// [quorate/httpapi/view].
//
// Parameters that an endpoint knows are refused with 400 and a message that begins
// with their name when they are malformed, empty, out of bounds or given twice.
// Lists have at most 100 items. Numbers are decimal digits. Where the contract
// leaves room:
//
//   - Lists are newest first; transactions of a block are in their order, and
//     tokens are in the order of their addresses. sortOrder is by default desc.
//   - startBlock may equal endBlock, which selects nothing, but not exceed it.
//   - pageSize 0 of a block's transactions, the default, gives the whole block.
//   - A blockNumber or blockId beyond the latest block is a 404.
//   - filterSpamTokens leaves out the tokens that are known to be malicious. A page
//     is filled up with others, but can end up short; what counts is its token.
//   - Native balances that the index does not know are asked of the chain's node.
//     Without a blockNumber a node that has dropped the state of the page's block
//     is asked for its latest instead.
//
// A page token holds the height of the first page, and all pages are read at
// that height: blocks that arrive meanwhile change nothing. It is good for the
// same path and parameters, but pageSize may change; any other token is a 400.
// Tokens do not expire, and outlast a restart if Config.TokenKey does.
//
// An address without rows has an empty list. What does not exist is a 404, but a
// 503 while the chain's node is down, since the index may be behind; so is what
// only the node knows then, and everything of a chain without a first block.
//
// Holders of a token are those of an ERC-20 token that had more than threshold,
// in its base units, after the last block before startTimestamp or after a block
// of the time from startTimestamp on and before endTimestamp; without them that
// is from genesis on, and to the latest block. What they had for a while within a
// block does not count. They are in the order of their addresses. sortKey is what
// they have at the height of the page, 0 when they have sold. Balances follow from
// transfers, as those of endpoint 7 do: an address cannot have less than nothing
// of a token that moves more than there is. A page can be short, even empty, when
// a search takes long; what counts is its token.
package evm
