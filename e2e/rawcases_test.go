package e2e

import "strings"

// rpcCase calls a method on its service's own path, with id 1.
func rpcCase(name, method, params string) rawCase {
	service, _, _ := strings.Cut(method, ".")
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"`
	if params != "" {
		body += `,"params":` + params
	}
	return rawCase{name: name, line: "POST /ext/" + service, body: body + "}"}
}

// healthCase sends a body to the health interface, which has methods without an effect.
func healthCase(name, body string) rawCase {
	return rawCase{name: name, line: "POST /ext/health", body: body}
}

const (
	alive = `{"jsonrpc":"2.0","id":1,"method":"health.liveness"}`
	// levels is a call of the administration without an effect.
	levels = `{"jsonrpc":"2.0","id":1,"method":"admin.getLoggerLevel","params":{"loggerName":"main"}}`
)

// rawCases are sent in this order: some aliases are taken by the case before.
var rawCases = []rawCase{
	// Verbs.
	{name: "GET admin", line: "GET /ext/admin"},
	{name: "HEAD admin", line: "HEAD /ext/admin"},
	{name: "PUT admin", line: "PUT /ext/admin", body: levels},
	{name: "DELETE admin", line: "DELETE /ext/admin"},
	{name: "OPTIONS admin", line: "OPTIONS /ext/admin"},
	{name: "PATCH health", line: "PATCH /ext/health", body: alive},
	{name: "unknown verb", line: "FROB /ext/health"},
	// GET and HEAD forms.
	{name: "GET health", line: "GET /ext/health"},
	{name: "GET health/health", line: "GET /ext/health/health"},
	{name: "GET readiness", line: "GET /ext/health/readiness"},
	{name: "GET liveness", line: "GET /ext/health/liveness"},
	{name: "GET health/", line: "GET /ext/health/"},
	{name: "GET health/nope", line: "GET /ext/health/nope"},
	{name: "HEAD health", line: "HEAD /ext/health"},
	{name: "HEAD readiness", line: "HEAD /ext/health/readiness"},
	{name: "POST readiness", line: "POST /ext/health/readiness", body: alive},
	{name: "GET a tag", line: "GET /ext/health?tag=11111111111111111111111111111111LpoYY"},
	{name: "GET unknown tags", line: "GET /ext/health?tag=x&tag=y"},
	{name: "GET an empty tag", line: "GET /ext/health?tag="},
	{name: "GET a broken tag", line: "GET /ext/health?tag=%zz"},
	{name: "GET tags, which is no parameter", line: "GET /ext/health?tags=x"},
	// Content types.
	{name: "no content type", line: "POST /ext/health", header: []string{noType}, body: alive},
	{name: "text/plain", line: "POST /ext/health", header: []string{"Content-Type: text/plain"}, body: alive},
	{name: "form", line: "POST /ext/admin", header: []string{"Content-Type: application/x-www-form-urlencoded"}, body: levels},
	{name: "json-rpc", line: "POST /ext/health", header: []string{"Content-Type: application/json-rpc"}, body: alive},
	{name: "charset", line: "POST /ext/health", header: []string{"Content-Type: application/json; charset=latin-1"}, body: alive},
	{name: "upper case type", line: "POST /ext/health", header: []string{"Content-Type: Application/JSON;"}, body: alive},
	{name: "space in type", line: "POST /ext/health", header: []string{"Content-Type: application/json ;x"}, body: alive},
	// Paths.
	{name: "ext", line: "GET /ext"},
	{name: "ext/", line: "GET /ext/"},
	{name: "admin/", line: "POST /ext/admin/", body: levels},
	{name: "admin/x", line: "POST /ext/admin/x", body: levels},
	{name: "Admin", line: "POST /ext/Admin", body: levels},
	{name: "nothing", line: "GET /ext/nothing"},
	{name: "double slash", line: "GET /ext//health?tag=a"},
	{name: "dots", line: "POST /ext/x/../admin", body: levels},
	{name: "one dot", line: "GET /ext/./health/"},
	{name: "escaped path", line: "GET /ext/%68ealth/liveness"},
	{name: "broken escape", line: "GET /ext/health%zz"},
	{name: "unknown chain", line: "POST /ext/bc/nope/rpc", body: `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`},
	{name: "chain alone", line: "POST /ext/bc/C", body: `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`},
	{name: "chain RPC by GET", line: "GET /ext/bc/C/rpc"},
	{name: "chain RPC as text", line: "POST /ext/bc/C/rpc", header: []string{"Content-Type: text/plain"}, body: `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`},
	{name: "chain RPC", line: "POST /ext/bc/C/rpc", body: `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`},
	{name: "chain RPC of a batch", line: "POST /ext/bc/{C}/rpc", body: `[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"eth_nope"}]`},
	{name: "chain RPC of 2 MiB", line: "POST /ext/bc/C/rpc", body: `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","pad":"` + strings.Repeat("x", 2<<20) + `"}`},
	{name: "chain RPC of nonsense", line: "POST /ext/bc/evm/rpc", body: `nonsense`},
	// Hosts and origins.
	{name: "host localhost", line: "GET /ext/health/liveness", header: []string{"Host: localhost:1"}},
	{name: "host by address", line: "GET /ext/health/liveness", header: []string{"Host: 192.0.2.1:9650"}},
	{name: "host IPv6", line: "GET /ext/health/liveness", header: []string{"Host: [::1]"}},
	{name: "host by name", line: "GET /ext/health/liveness", header: []string{"Host: evil.example"}},
	{name: "host like an address", line: "POST /ext/admin", header: []string{"Host: 127.0.0.1.evil.example"}, body: levels},
	{name: "host by name, nothing there", line: "GET /ext/nothing", header: []string{"Host: localhost.evil.example:80"}},
	{name: "foreign origin", line: "POST /ext/admin", header: []string{"Origin: http://evil.example"}, body: levels},
	{name: "foreign preflight", line: "OPTIONS /ext/admin", header: []string{"Origin: http://evil.example", "Access-Control-Request-Method: POST"}},
	{name: "foreign origin of health", line: "GET /ext/health/liveness", header: []string{"Origin: http://page.example"}},
	// Bodies that are no request.
	healthCase("empty body", ""),
	healthCase("blanks", "   "),
	healthCase("cut off", `{"jsonrpc":"2.0",`),
	healthCase("no JSON", "hello"),
	healthCase("null", "null"),
	healthCase("a text", `"x"`),
	healthCase("a number", "5"),
	healthCase("an empty batch", "[]"),
	healthCase("a batch", "["+alive+"]"),
	healthCase("method is a number", `{"jsonrpc":"2.0","method":5,"params":{"a":"b"},"id":7}`),
	healthCase("version is a number", `{"jsonrpc":2,"method":"health.liveness","id":7}`),
	healthCase("invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"health.liveness\"}"),
	healthCase("long body", `{"jsonrpc":"2.0","id":1,"method":"health.liveness","params":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`),
	healthCase("long params of a wrong version", `{"jsonrpc":"1.0","id":1,"method":"health.liveness","params":{"x":"`+strings.Repeat("x", 2000)+`"}}`),
	healthCase("long id", `{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 2000)+`","method":"health.liveness"}`),
	// Versions.
	healthCase("version 1.0", `{"jsonrpc":"1.0","method":"health.liveness","params":{"a":1},"id":1}`),
	healthCase("no version", `{"method":"health.liveness","id":1}`),
	// IDs.
	healthCase("id text", `{"jsonrpc":"2.0","id":"a\u00e9<b>","method":"health.liveness"}`),
	healthCase("id fraction", `{"jsonrpc":"2.0","id":1.50,"method":"health.liveness"}`),
	healthCase("id long", `{"jsonrpc":"2.0","id":12345678901234567890123,"method":"health.liveness"}`),
	healthCase("id object", `{"jsonrpc":"2.0","id":{"a": [1,  2]},"method":"health.nope"}`),
	healthCase("id true", `{"jsonrpc":"2.0","id":true,"method":"health.liveness"}`),
	healthCase("id null", `{"jsonrpc":"2.0","id":null,"method":"health.liveness"}`),
	healthCase("no id", `{"jsonrpc":"2.0","method":"health.liveness"}`),
	healthCase("no id and no such method", `{"jsonrpc":"2.0","method":"health.nope"}`),
	healthCase("lenient", `{"JSONRPC":"2.0","METHOD":"health.nope","Method":"health.liveness","more":1,"ID":3,"id":4} and more`),
	// Methods.
	rpcCase("unknown method", "admin.nope", ""),
	rpcCase("upper case method", "admin.Alias", ""),
	rpcCase("wrong case of a method", "admin.setLoggerlevel", "{}"),
	rpcCase("no function", "admin.", ""),
	{name: "other service", line: "POST /ext/admin", body: alive},
	{name: "administration on health", line: "POST /ext/health", body: levels},
	healthCase("no dot", `{"jsonrpc":"2.0","id":1,"method":"x"}`),
	healthCase("two dots", `{"jsonrpc":"2.0","id":1,"method":"a.b.c"}`),
	healthCase("no method", `{"jsonrpc":"2.0","id":1}`),
	rpcCase("method outside the contract", "admin.getConfig", ""),
	// Params of any form.
	rpcCase("params null", "health.liveness", "null"),
	rpcCase("params an empty list", "health.liveness", "[]"),
	rpcCase("params in a list", "admin.getLoggerLevel", `[{"loggerName":"main"},5]`),
	rpcCase("params a text", "health.liveness", `"x"`),
	rpcCase("params a list of numbers", "admin.memoryProfile", "[1]"),
	rpcCase("params unknown", "health.liveness", `{"any":{"deep":[]}}`),
	rpcCase("tags a text", "health.health", `{"tags":"a"}`),
	rpcCase("tags of numbers", "health.health", `{"tags":[1]}`),
	rpcCase("tags null", "health.health", `{"tags":null}`),
	rpcCase("unknown tags", "health.health", `{"tags":["nope"]}`),
}

// moreRawCases are calls whose params are wrong in themselves.
var moreRawCases = []rawCase{
	rpcCase("logger unknown", "admin.getLoggerLevel", `{"loggerName":"nope"}`),
	rpcCase("logger a number", "admin.getLoggerLevel", `{"loggerName":5}`),
	rpcCase("logger of another case", "admin.getLoggerLevel", `{"loggerName":"Main"}`),
	rpcCase("no level", "admin.setLoggerLevel", `{"loggerName":"nope"}`),
	rpcCase("level null", "admin.setLoggerLevel", `{"logLevel":null}`),
	rpcCase("level unknown", "admin.setLoggerLevel", `{"loggerName":"main","logLevel":"LOUD"}`),
	rpcCase("level empty", "admin.setLoggerLevel", `{"loggerName":"main","displayLevel":""}`),
	rpcCase("level a number", "admin.setLoggerLevel", `{"loggerName":"main","displayLevel":5}`),
	rpcCase("level of an unknown logger", "admin.setLoggerLevel", `{"loggerName":"nope","logLevel":"INFO"}`),
	rpcCase("one level", "admin.setLoggerLevel", `{"loggerName":"main","logLevel":"info"}`),

	rpcCase("alias", "admin.alias", `{"endpoint":"health","alias":"raw"}`),
	rpcCase("alias taken", "admin.alias", `{"endpoint":"metrics","alias":"raw"}`),
	rpcCase("alias of an alias", "admin.alias", `{"endpoint":"raw","alias":"deep/er"}`),
	{name: "GET an alias", line: "GET /ext/deep/er/liveness"},
	{name: "GET an alias with a slash", line: "GET /ext/raw/"},
	{name: "POST to an alias", line: "POST /ext/raw", body: alive},
	rpcCase("alias of 513", "admin.alias", `{"endpoint":"health","alias":"`+strings.Repeat("r", 513)+`"}`),
	rpcCase("alias equal to a chain", "admin.alias", `{"endpoint":"health","alias":"bc/X"}`),
	rpcCase("alias equal to an endpoint", "admin.alias", `{"endpoint":"admin","alias":"health"}`),
	rpcCase("alias a number", "admin.alias", `{"endpoint":"health","alias":5}`),
	rpcCase("alias with dots", "admin.alias", `{"endpoint":"health","alias":"raw/../x"}`),
	rpcCase("alias with a slash before", "admin.alias", `{"endpoint":"health","alias":"/raw2"}`),
	rpcCase("alias with a slash behind", "admin.alias", `{"endpoint":"health","alias":"raw3/"}`),
	rpcCase("alias with a line break", "admin.alias", `{"endpoint":"health","alias":"raw\r\n4"}`),
	rpcCase("alias that is a pattern", "admin.alias", `{"endpoint":"health","alias":"raw5{x}"}`),
	rpcCase("alias of nothing", "admin.alias", `{"endpoint":"nothing","alias":"raw6"}`),
	rpcCase("alias of no endpoint", "admin.alias", `{"alias":"raw7"}`),

	rpcCase("chain alias", "admin.aliasChain", `{"chain":"{C}","alias":"rawc"}`),
	rpcCase("chain alias taken", "admin.aliasChain", `{"chain":"X","alias":"rawc"}`),
	rpcCase("chain alias built in", "admin.aliasChain", `{"chain":"C","alias":"P"}`),
	rpcCase("chain alias of nothing", "admin.aliasChain", `{"chain":"nope","alias":"rawd"}`),
	rpcCase("chain alias of no chain", "admin.aliasChain", `{"alias":"rawd"}`),
	rpcCase("chain alias of an unknown ID", "admin.aliasChain", `{"chain":"2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm","alias":"rawd"}`),
	rpcCase("chain alias of 513", "admin.aliasChain", `{"chain":"C","alias":"`+strings.Repeat("r", 513)+`"}`),
	rpcCase("chain alias that is the ID", "admin.aliasChain", `{"chain":"C","alias":"{C}"}`),
	rpcCase("aliases of nothing", "admin.getChainAliases", `{"chain":"nope"}`),
	rpcCase("aliases without a chain", "admin.getChainAliases", `{}`),
	rpcCase("aliases of a zero", "admin.getChainAliases", `{"chain":"0"}`),

	rpcCase("stop no profile", "admin.stopCPUProfiler", ""),
	rpcCase("profile with a text", "admin.lockProfile", `"x"`),
	rpcCase("load with a list of numbers", "admin.loadVMs", "[1]"),
	rpcCase("load", "admin.loadVMs", "{}"),
}
