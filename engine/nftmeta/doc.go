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
// # Queues
//
// Each site, the registered domain of a server, has a queue: few of its requests are under
// way, with a pause between two, and it rests when it fails or asks for it. Passes over the
// index find what is due; the index reports new and changed URIs, and clients ask for tokens:
// these go to the front. A task that no longer fits in its queue is dropped and found again
// by the next pass, so nothing but the queues has to be remembered.
//
// # What is kept
//
// A record for each token in the results database: the document, when to look again, and when
// a client asked for it last, so that what was acknowledged is fetched after a kill, too.
// Documents are looked at again after [Config.Refresh]; what failed earlier, ever more
// seldom; a changed URI within a minute. A document that was fetched once stays while its
// server is down.
//
// Records are bounded: beyond [Config.Most] old ones are dropped, failures first. Passes add
// no new ones to the last twentieth, so that what was dropped is not fetched again.
//
// None of this is a function of the chain, so it is not in the index nor in the archive:
// what is lost is fetched again.
package nftmeta
