// Package index turns blocks of EVM chains into rows, and reads them back.
//
// The write path is pure: what rows a block gives depends on the block and on
// the balances before it, on nothing else. [Chain.Commit] adds the reading and
// writing. The read path is a [View]: the chain as it was at one height. Later
// blocks never show in it, so a list that is read page by page stays what it
// was on the first page.
//
// Rules of what is indexed:
//
//   - An ERC-20 transfer is a Transfer log with three topics and 32 bytes of data,
//     an ERC-721 transfer one with four topics and no data. ERC-1155 transfers are
//     TransferSingle and TransferBatch logs; a batch gives one transfer for each
//     of its first 65,536 items. A log of another shape is no transfer.
//   - An address has part in a transaction that it sent, that was sent to it, that
//     created it, in a transfer from or to it, or in a call of any type from or to
//     it, reverted ones included. The zero address stands for no one where a
//     creation has no receiver; in transfers it is an address like others.
//   - Token balances follow from transfers alone, and those of wrapped native coins
//     from their Deposit and Withdrawal events too, in the order of the logs. A token
//     that moves more than an address has lies about its balances: what would fall
//     below zero stays zero, and is marked as doubtful from then on. Of such a balance,
//     and of all of a token that is known to be uneven ([Chain.PutUneven]), what its
//     contract stated counts, as far as it was asked. The zero address has no balance
//     and owns no NFTs. What an address held once is what it had after some block.
//   - The deployer of a contract is the account whose call made it: the sender of
//     the transaction, or a contract.
//   - An interchain message is what a known messenger logs (see engine/chain/icm). Where
//     the event says enough for that, its ID must be the one that follows from the
//     messenger, both chains and the nonce.
//
// Each table has a version, that of the rules its rows are made by, and lies in an
// edition of its own. [Chain.Stale] names tables of other versions, and
// [Chain.Rebuild] makes them again from blocks beside those that are served, with rows
// that are sorted and loaded without transactions but for those of metrics. Pure
// tables follow from each block alone; folds, which are balances and metrics, also
// from the rows before. A block that was committed without its trace is a gap until
// [Chain.Complete]: what its trace says is missing, and the native balance of an
// account is not known from the gap to the next block that changed it.
package index
