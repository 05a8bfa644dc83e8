// Package httpapi is the HTTP server: it routes requests, checks their
// parameters, asks the packages that know the answers and writes JSON.
//
// # Signature aggregation
//
// POST /v1/signatureAggregator/{network}/aggregateSignatures answers 201 with
// {"signedMessage": "<hex>"}, as both official SDKs demand; the hex has no 0x,
// since clients of the public service put it in front themselves. The body is
// one JSON object:
//
//   - message, justification: hex with or without 0x. One of them is required;
//     the empty string and null count as absent.
//   - signingSubnetId: 64 hex digits or CB58; empty or null counts as absent.
//   - quorumPercentage (default 67), quorumPercentageBuffer (default 0): integers
//     from 0 to 100, together at most 100. 67.0 and 6.7e1 are integers, as they
//     are in JavaScript; 67.5 and "67" are refused. A quorum of 0 is met by any
//     one signature.
//   - pChainHeight: an integer below 2^53, which every JSON implementation can carry;
//     0 is the proposed height. The node's own mark for that, 2^64-1, is refused.
//     Without it the height is that of the epoch of the chain that is going to check
//     the message, as far as that is known, else the proposed one.
//   - destinationBlockchainId: that chain, as signingSubnetId; an interchain message
//     names it itself. A client's that is not followed is a 400.
//
// The header X-P-Chain-Height has the height of the validators who signed. A quorum of 0
// is taken as it is, and X-Quorum-Note says what it is worth.
//
// Names are case-sensitive, and the last of several members of the same name wins. The content type must be JSON or absent; a web
// page of another origin can therefore not post without asking the browser first.
//
// POST /aggregate-signatures is the interface of the relayer's own aggregator
// with its kebab-case names; p-chain-height, which its documentation has, is the same as
// pchain-height, which its code has. It answers 200 with {"signed-message": "<hex>"} and
// errors as {"error": "..."}; the network is that of the message, which is
// therefore required, and as there a quorum of 0 means the default. It reads what the
// original reads: names in any case, members of any other name, which are ignored
// whatever they look like, text behind the object, and 2^64-1 for the proposed height.
//
// # Statuses of failed aggregations
//
// Both SDKs ask again after every 5XX for up to two minutes and never after a
// 4XX, so the status says whether asking again unchanged can help:
//
//	BadRequest   400  it can never succeed as it is
//	NotFound     404  no such subnet, chain or height
//	Refused      400  validators said that they do not sign this message; the reason
//	                  is in the message, and asking again would only load them
//	Unreachable  503  too little stake answered; connections come back
//	Invalid      502  validators answered with invalid signatures, which is what the
//	                  contract calls an invalid upstream response
//	Overloaded   503  not 429: that means the client's own rate, and is never
//	                  repeated by the SDKs, while no work was done here and a moment
//	                  later there may be room
//	NodeFailed   503  the contract's meaning: a problem with the node of that chain
//	Stopping     503  another server or the next one will answer
//
// Every 502 and 503 carries Retry-After, which the SDKs follow. The drop-in
// answers 400 for what it refuses itself and 500 for any failed aggregation, as
// the original does, but 503 when overloaded or stopping, for which the original
// has no answer.
//
// GET /v1/signatureAggregator/{network}/aggregateSignatures/{txHash} answers 201
// with the signed warp message of a transaction of any chain that is followed
// and belongs to the network, signed as with the defaults above. txHash is the hash of
// a transaction of an EVM chain, or the ID of one of the P-Chain in CB58: then the
// message is what the P-Chain attests of it. Where there is no such transaction with a
// message, it is the ID of the message itself, in either form. When there are
// several, signedMessage is the first in the order of their logs and
// signedMessages has all of them; more than 64 are refused with 400. A
// transaction without a message is a 404.
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
// Tokens do not expire, and outlast a restart if [Config].TokenKey does.
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
//
// # The primary network
//
// Routes below /v1/networks/{network} read the P-, X- and C-Chain as those of the
// primary network. A network is mainnet, fuji or testnet, and chainInfo calls it as the
// path does. A blockchainId is p-chain, x-chain, c-chain, the letter of one, or its ID
// in CB58: one of another chain is a 404. IDs are in CB58, addresses in Bech32 without
// a chain; as parameters they may have P- or X- before them, and those of another
// network are refused. Amounts are in nAVAX. Where the contract leaves room:
//
//   - Lists are newest first, sortOrder is by default desc. Rows are in the order of the
//     blocks that made them and never move: pages walked while blocks arrive have
//     each row once.
//   - startTimestamp is inclusive and endTimestamp exclusive, as for metrics.
//   - blockHash is the block's own ID, also where a proposer's header is around it, whose
//     ID is the proposerId. proposerDetails are left out of blocks that a node without
//     its index returned, and of those from before there were proposers;
//     proposerNodeId is left out where nobody signed. currentSupply, activeL1Validators
//     and l1ValidatorsAccruedFees are those of the P-Chain after the block, where they
//     are known.
//   - A delegator that is not completed has its rewards under both names, estimates of
//     what they will be. delegationFee is a percentage.
//   - What a reward was worth at the time, its historicalPrice, is not known.
//   - evmChainId is 0 of chains that are not of the EVM. genesisData are the members that
//     the contract names, and left out where they are no JSON of an EVM chain, above
//     4 MiB, or of a subnet with more than 4 MiB of them. baseFeePerGas and airdropAmount
//     are null if they are there at all: see package [quorate/httpapi/view].
//
// What only the SDKs know is in their forms:
//
//   - A blockId is a height or an ID, also that of the proposer's header; IDs in paths
//     and parameters may be in hex.
//   - Validators without subnetId are those of the primary network; those of one node
//     are of all subnets. uptimePerformance, of the primary network alone, and
//     avalancheGoVersion are what the followed node says; where it does not they are left
//     out, and the uptime is 0 for the SDKs, which demand it, like all else that only its
//     neighbours know of a node.
//   - stakingRatio is that after the last block, and where the supply does not follow
//     from the blocks, what the followed node says of supply and stake.
//   - amountBurned is all that the inputs have more than the outputs, with what goes to
//     the balance of validators of L1s. txTypes may be repeated, or a list.
//   - Outputs are those that are there and those that are staked, on the C-Chain those
//     that were exported. Outputs that an address got before the first indexed block are
//     not known; spent by an input they have no addresses.
//   - atomicMemoryUnlocked and atomicMemoryLocked are what was exported from the chain
//     and, as far as the other chain is followed, not taken there yet.
//   - POSTs take {"addresses": "a,b"} and answer 200.
//
// # Metrics
//
// The points of a metric, GET /v2/chains/{chainId}/metrics/{metric}, are what
// package [quorate/rollup] makes of blocks, of which it tells the rules. A chain
// is named as above; total, mainnet and testnet are all chains, those of the main
// network and all others, and hide chains of these names. fuji is no group. Where
// the contract leaves room:
//
//   - Points are newest first. There is one for each bucket from that of the first
//     block after genesis to that of the last block. timeInterval is by default day.
//   - startTimestamp is inclusive and endTimestamp exclusive; a frame without
//     points has an empty list, also when it ends before it starts.
//   - An unknown metric is a 400 that names all of them: it is a mistyped value
//     rather than a wrong address. So is an interval that a metric does not have.
//   - A metric that needs traces is a 404 for a chain whose blocks were not all
//     traced. Groups leave such chains out, and are a 404 when none is left.
//   - The points of a group go from the first bucket of any of its chains to the
//     last of any. One without chains, or whose chains have no block yet, has none.
//   - A page token holds the bucket of the last point given: pages go on from
//     there, and points that come meanwhile are before it.
//   - A chain's node is not needed. While the metrics of a chain are made again, it
//     and its groups are a 503 whose message says how far they are.
//
// GET /v2/chains/{chainId}/rollingWindowMetrics/{metric} has all metrics but the
// cumulative ones, over the last hour, day, 7, 30, 90 and 365 days and over all time. A
// window ends now and begins with the full hour in which the time so long ago lies, so
// that it has all of that time, and that distinct addresses are exact; since says when.
// Rates are those of a day: divided by the time from the last block before the window to
// the last one in it. What needs blocks below the first that is indexed is left out.
//
// GET /v1/avg_tps/{chainId} gives avgTps by day, in pages of 100 points. Page
// tokens are UUIDs, good for 24 hours. lastRun is when a block was indexed last
// or there was none to index, of a group the latest. The message of its errors is
// a list of one, wherever they are made.
//
// What was answered is kept as text, up to 32 MiB, in chunks that are made again
// only as far as further blocks have changed them.
//
// # A chain that is still indexed
//
// While the index of a chain is empty, or so far behind its node that it shows the
// past, the chain is UNAVAILABLE in the list of chains, lastRun of endpoint 19 is the
// time of its last block, and answers about it, errors too, carry X-Indexed-Height and
// X-Chain-Height, as far as they are known. What is there is served all the same.
//
// A request with X-Min-Height is answered of no older state than that height: a server
// whose index has not come so far waits up to 250 ms and then answers 503 with
// Retry-After. The same is done about blocks that a page token proves to exist or that
// a node has told of, and X-Indexed-Height is always there. In a fleet all requests are
// answered so.
//
// # Gaps
//
// What is missing of a chain is a further member of it in the list of chains, left
// out if nothing is: gaps, a list of {"kind","fromBlock","toBlock","reason"}. kind is
// trace (a block whose trace no node could make yet), untraced (no node has the
// debug API), unverified (blocks that could not be checked by their hash), doubtful
// (their results, calls or balances may be false, and other nodes are asked), header (no node
// had the proposers' headers of blocks of the P- or the X-Chain yet), unreadable (the index of
// the P- or the X-Chain stands before a block of a form that this release does not know;
// it comes first, and behind the range as parameters time, of the block, and needs, what a
// release must know that reads it, as far as they are known), below-start (the
// index begins above), metrics (the chain went back some blocks: metrics from the hour,
// day, week and month of the first one on are made again, and a 503 until then), rewards
// (the index of the P-Chain was made by the rates of before Helicon: rewards and the supply
// are too high from the first block on, until it is made again),
// unsummed (older blocks that came later: lists show them, token balances and
// cumulative metrics lack them until the first block of the chain is there), or, where
// no rows are missing, archive-damaged, archive-pruned and archive-filling. Answers
// about a chain of which rows are missing or not certain carry X-Chain-Gaps, for example
// "trace 4711-4711, unverified 5000-5300" or
// "unreadable 4711-4800; time=2026-11-27T13:12:01Z; needs=\"avalanchego 1.16.0\"".
//
// # Names that are not known
//
// A parameter of the query or a member of a body of six letters or more that is
// within two letters of one that the endpoint knows is refused with 400: it was
// mistyped, and so is one that the official service has and the endpoint has not. All
// others are ignored, and named in the header X-Ignored. POST
// /aggregate-signatures refuses none, since the original does not.
//
// # Bodies
//
// Bodies from [Config].CompressMin bytes on are sent with zstd or gzip to clients
// that accept them.
//
// # Errors
//
// Bodies are {"message": "...", "statusCode": 400, "error": "Bad Request"}. This
// includes what goes wrong before a route is known: a malformed request (400), a
// request that takes too long to arrive (408), a body (413) or header (431) that
// is too large, and too many connections or requests (503).
package httpapi
