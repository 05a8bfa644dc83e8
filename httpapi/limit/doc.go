// Package limit says which requests are answered: it knows the API keys and
// keeps every client within its rate.
//
// Requests cost compute units. Each API key has a token bucket of its own, filled
// at the rate of the key's tier; clients without a key have one for their address
// (IPv6: for their /64, since a client may use any address of it, and with four and sixteen
// times the rate for the /56 and the /48 that this is in, since many have all of those). A request that
// finds too few units is refused with 429 and the time after which it would have
// passed, and costs nothing; nor does any other refused request, unless it was refused for what
// only its body showed: what reading that cost is taken. Probes, such as
// health checks, are charged as far as there are units, and never refused.
//
// # Statuses
//
// A key is taken from the header X-Service-Api-Key or else X-Glacier-Api-Key,
// under which both official SDKs send it. An empty one is no key, and a server
// without a keys file takes no notice of any.
//
//	401  no key where [Config].RequireKey asks for one, or a key that is not known:
//	     in both cases the credentials that are required are missing
//	403  the key is known, but disabled, or its tier does not permit the route or
//	     the chain
//	429  the client's units are used up
//
// Public routes, those of metrics and health, never need a key. A known key counts there as
// elsewhere, so that it raises the rate; any other is ignored.
//
// # The keys file
//
// YAML, or JSON when it starts with a brace:
//
//	tiers:
//	  - name: partner
//	    unitsPerMinute: 60000    # 1 to 100,000,000
//	    burst: 10000             # units that may be used at once; default one minute's
//	    routes: ["/v1/chains/*"] # permitted route patterns, a final * takes any rest; default all
//	    chains: ["43114"]        # permitted EVM chain IDs; default all
//	keys:
//	  - name: acme               # whose key it is; optional
//	    hash: 9f86d081...        # SHA-256 of the key, 64 hex digits
//	    tier: partner
//	    disabled: false
//
// Keys are never stored: [NewKey] makes one of 256 random bits, so that its plain
// SHA-256 gives nothing away. The file is looked at again at most once a second,
// and read again when its time or size changed; buckets go on as they are. A file
// that is gone or not valid is logged, and what was read before stays in force.
//
// # Addresses
//
// A client's address is that of its connection. Behind proxies named in
// [Config].TrustedProxies it is the last address of X-Forwarded-For that is no
// such proxy. Nothing that others send is ever believed.
//
// At most [Config].MaxClients addresses are remembered; the one unseen for longest
// makes room, and starts with a full bucket when it comes back.
package limit
