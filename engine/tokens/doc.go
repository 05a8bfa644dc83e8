// Package tokens asks contracts what blocks do not say: what a token is called, the
// URIs of NFTs, and what addresses hold of tokens whose events do not add up. It
// works beside the index and never in its way: all that it has to do follows from
// blocks that are indexed, and is done in a lane of its own.
//
// # Words
//
//   - Facts are name, symbol, decimals and standard of a token.
//   - A visit asks a token for its facts and holds a sample of its balances against
//     what its contract says after the same block.
//   - A token is uneven if a visit has found a balance that is not the sum of the
//     token's events, or events that moved more than there was: it rebases, takes
//     fees, or only makes events. It stays uneven. Its balances are those that its
//     contract says. While the index lacks a chain's first blocks no token is found
//     to be uneven, and the balances of all are those that contracts say.
//   - A task is a question about one URI or one balance.
//   - A note is what was said, with the height: a record of the chain's archive. All
//     that is kept of answers is in notes, so [Replay] needs no node.
//
// # When a token is asked
//
// Facts are read before the token's first block is indexed if the chain is followed
// at its head and the node answers within 250 ms; if it does not, no block waits for
// the next 10 s. Until they are known they are unknown, not empty. They are read
// again a day later at most, and within seconds of a sign that they have changed, or
// minutes if the token has shown such signs without a change: an event that is no
// transfer or approval (such as Upgraded), a call of the contract without any event, a
// contract created at the address again. While a token moves, it is visited every 10
// minutes, in the beginning more often, and more rarely if it is uneven and has many
// holders.
//
// URIs are read when an NFT is minted, and again when the contract says that they
// have changed (ERC-4906, the URI event of ERC-1155) or a visit finds that one of a
// sample has. Of a contract 10,000 are read at most. Balances of uneven tokens are
// read for all that had a part in a transfer, again after each of their transfers,
// and all at each visit; of a token 10,000 holders at most.
//
// Questions go out 64 at a time, from all tokens in turn: one that makes many costs
// others no more than a place in the turn. How far blocks were dealt with is kept,
// so a restart looks at later ones only.
package tokens
