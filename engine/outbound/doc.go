// Package outbound connects to servers that strangers have named: the receivers of
// webhooks, and those that hold the metadata of NFTs. Peers' addresses are held against the
// same rule. Whoever names a server must not
// have ours reach what only ours can: itself, its neighbours, the address of a cloud's
// credentials.
//
// A name is looked up once for each connection, and the addresses that were found are
// those that are connected to, after each of them was checked: a name that means another
// address a moment later (DNS rebinding) wins nothing. Which addresses are the internet's
// is the business of code.dny.dev/ssrf, which follows IANA's registries of special
// addresses: of IPv6 nothing outside 2000::/3 is, so addresses that hide one of IPv4
// (mapped, NAT64, 6to4, Teredo) are not.
//
// There is no proxy, no cookie, no credential and no referrer. Each redirect is checked as
// the first address was.
package outbound
