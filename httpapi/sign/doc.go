// Package sign has messages signed, in the forms of the SDKs and of the relayers' own
// aggregator: what a request has in its body, what a transaction has emitted, and what has an ID.
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
package sign
