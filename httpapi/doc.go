// Package httpapi is the HTTP server: it routes requests, checks their
// parameters, asks the rooms that know the answers and writes JSON. What each answers is in the
// documentation of its package; of the primary network it is here.
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
// # Names that are not known
//
// A parameter of the query or a member of a body of six letters or more that is
// within two letters of one that the endpoint knows is refused with 400: it was
// mistyped, and so is one that the official service has and the endpoint has not. All
// others are ignored, and named in the header X-Ignored. POST
// /aggregate-signatures refuses none, since the original does not.
//
// # Errors
//
// Bodies are {"message": "...", "statusCode": 400, "error": "Bad Request"}. This
// includes what goes wrong before a route is known: a malformed request (400), a
// request that takes too long to arrive (408), a body (413) or header (431) that
// is too large, and too many connections or requests (503).
package httpapi
