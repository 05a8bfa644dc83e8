package results

// Key prefixes, one byte each. A number is never used again for another
// layout: a new layout takes a new number. Integers are big-endian.
const (
	// prefixResult marks kept results, in the results database.
	//
	//	key:   0x01 | the caller's key
	//	value: u64 end of validity, Unix seconds, 0 = none | the caller's value
	prefixResult = 0x01

	// prefixNote marks notes of what was learned in passing, in the results
	// database.
	//
	//	key:   0x03 | the caller's key (aggregator/notes.go)
	//	value: as prefixResult
	prefixNote = 0x03
)

// prefixMemory marks what the engine remembers of nodes, networks and chains, in
// the results database.
//
//	key:   0x08 | the caller's key
//	value: u64 0 | the caller's value
const prefixMemory = 0x08

// prefixOperation marks operations that clients have started, in the results database.
//
//	key:   0x09 | ID of the operation, its text (engine/operation/record.go)
//	value: u64 0 | the caller's value; an operation that is over and gone has none
const prefixOperation = 0x09

// prefixWebhook marks clients' webhooks and their secrets, in the results database.
//
//	key:   0x0a | ID of the webhook, its text, or "secret/" and the client (engine/webhook/webhook.go)
//	value: as prefixOperation
const prefixWebhook = 0x0a

// prefixMetadata marks what was fetched of NFTs, in the results database.
//
//	key:   0x0b | kind | chain ID | contract | token ID, 32 bytes (engine/nftmeta/record.go)
//	value: as prefixOperation
const prefixMetadata = 0x0b

// expiryLen is the length of the end of validity in front of a value.
const expiryLen = 8
