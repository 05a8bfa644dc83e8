// Package nftmeta fetches what the URIs of NFTs lead to: the names, images and attributes
// that are called their metadata.
//
// Contracts say the URIs, and anybody makes contracts: URIs, servers and documents are
// hostile until shown otherwise. Servers are reached by package
// [quorate/engine/outbound] alone; an answer is bounded in time, bytes, depth and type;
// of a document the usual members are kept, each cleaned and bounded. IPFS is reached
// through the gateway that the operator has named, which is the only server that may be
// on a private address.
//
// # Turns
//
// Collections take turns, and each has few requests under way, so one of ten thousand
// tokens delays another by one document. So do sites: those of one registered domain
// share a pause between requests, and a back-off when it fails or asks for one, and
// those of others behind them in a collection do not wait. The gateway has three quarters
// of the requests under way at most, and so have all other sites together: while one of
// the two answers slowly the other goes on. What cannot be asked now is found again by the
// next pass over the index, which is all that a queue needs to remember.
//
// # What is kept
//
// A record for each token in the results database: the document, and when to look again.
// Documents are looked at again after [Config.Refresh]; what failed earlier, ever more
// seldom; a changed URI within a minute. A document that was fetched once stays while its
// server is down. That a client asked for a token ([Metadata.Reindex]) is committed
// before it is acknowledged, and forgotten after the token's record was written, so it
// survives whatever ends when.
//
// # Room
//
// The records are bounded. When a new one finds no room, a sweep drops those of chains that
// are followed no more, then those of collections that are larger than the one in need,
// until each has the same share: the greatest at which a twentieth of all is free. From then
// on a collection with as many has no new record, unless a client asks for the token, so
// that nothing is dropped and fetched in turns, and small collections always find room.
// This level only falls. It is committed before what is dropped for it, so a sweep that was
// broken off is completed by the next one.
//
// None of this is a function of the chain, so it is not in the index nor in the archive:
// what is lost is fetched again.
package nftmeta
