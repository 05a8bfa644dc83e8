// Makes one call through one SDK, in Node.js as in a browser.

// maxPages ends a walk that has no end.
const maxPages = 100_000;

// run makes a call, walks its pages, and tells what came.
export async function run(client, call, options) {
  const { endpoint, name, fixed = false, empty = false } = call;
  const line = { endpoint, call: name, request: call.request, fixed, empty };
  const begin = performance.now();
  answered.clear();
  try {
    if (call.first) call = { ...call, request: { ...call.request, ...(await taken(client, call.first, options)) } };
    line.request = call.request;
    const seen = await (call.exported ? exported : call.hooked ? hooked : call.rows ? walk : single)(client, call, options);
    if (call.error) throw new Error(`answered, where status ${call.error} was wanted`);
    Object.assign(line, seen);
  } catch (err) {
    if (!call.error || !isRefusal(err, call.error)) line.error = describe(err);
    else line.refused = call.error;
  }
  line.ms = Math.round(performance.now() - begin);
  line.answered = [...answered];
  return line;
}

// taken returns what a request takes of the first row of a list, or of a single object.
async function taken(client, list, options) {
  if (!list.rows) return list.take(await invoke(client, list.name, list.request, options));
  for await (const page of pagesOf(client, list, options)) {
    if (page[list.rows].length) return list.take(page[list.rows][0]);
  }
  throw new Error(`${list.name} has no row to take from`);
}

async function single(client, call, options) {
  const answer = await invoke(client, call.name, call.request, options);
  call.check?.(answer);
  if (call.member && answer[call.member] === undefined) throw new Error(`the answer has no ${call.member}`);
  for (const [path, want] of Object.entries(call.wants ?? {})) {
    const value = path.split(".").reduce((o, part) => o?.[part], answer);
    if (value !== want) throw new Error(`${path} is ${value}, not ${want}`);
  }
  return { pages: 1, items: 1, keys: Object.keys(answer).sort() };
}

// exported waits for an export and downloads its file. The transactions of the blocks
// that pages are walked of must be those of the pages, in the order of the chain.
async function exported(client, call, options) {
  let operation = await invoke(client, call.name, call.request, options);
  const { operationId } = operation;
  for (let n = 0; operation.operationStatus === "RUNNING"; n++) {
    if (n > 1200) throw new Error(`export ${operationId} does not end`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    operation = await invoke(client, "data.operations.getResult", { operationId }, options);
  }
  if (operation.operationStatus !== "COMPLETED") throw new Error(`export: ${JSON.stringify(operation)}`);
  const answer = await fetch(operation.metadata.downloadUrl);
  if (!answer.ok) throw new Error(`download: status ${answer.status}`);
  const text = await new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).text();
  const lines = text.split("\r\n");
  const names = lines.shift().split(",");
  if (lines.pop() !== "") throw new Error("the file does not end with a line's end");
  const cell = (line, name) => line.split(",")[names.indexOf(name)]; // text comes after all that is read here
  const { startBlock, endBlock } = call.exported.request;
  const got = lines.filter((l) => cell(l, "rowType") === "transaction" && cell(l, "blockNumber") >= startBlock && cell(l, "blockNumber") < endBlock)
    .map((l) => cell(l, "txHash"));
  const want = [];
  for await (const page of pagesOf(client, call.exported, options)) {
    want.push(...page[call.exported.rows].map((t) => t.nativeTransaction.txHash));
  }
  if (got.join() !== want.reverse().join()) throw new Error(`${got.length} transactions, pages have ${want.length}, or in another order`);
  return { pages: 1, items: got.length, keys: Object.keys(operation).sort() };
}

// hooked makes a webhook, changes it in all ways, and deletes it.
async function hooked(client, call, options) {
  const made = await invoke(client, call.name, call.request, options);
  const { id } = made;
  const want = (what, value, wanted) => {
    if (JSON.stringify(value) !== JSON.stringify(wanted)) throw new Error(`${what} is ${JSON.stringify(value)}, not ${JSON.stringify(wanted)}`);
  };
  const on = (method, request) => invoke(client, `webhooks.${method}`, { id, ...request }, options);
  const listed = async () => {
    const ids = [];
    for await (const page of pagesOf(client, { name: "webhooks.list", request: { pageSize: 1 } }, options)) ids.push(...page.webhooks.map((w) => w.id));
    return ids.includes(id);
  };
  try {
    want("a new one", [made.status, made.url, made.chainId], ["active", call.request.url, call.request.chainId ?? "p-chain"]);
    want("its type", made.eventType, call.request.eventType);
    if (!call.more) for (const [member, value] of Object.entries(call.request.metadata)) want(member, made.metadata[member], value);
    want("its name", (await on("get")).name, call.request.name);
    want("listed", await listed(), true);
    const change = (request) => on("update", { updateWebhookRequest: request });
    want("the change", (await change({ name: "other", status: "inactive" })).status, "inactive");
    want("the change", (await change({ status: "active" })).name, "other");
    await (call.more ? changeAddresses(call, on, want, () => pagesOf(client, { name: "webhooks.addresses.list", request: { id, pageSize: 1 } }, options))
      : keepAddresses(on, want));
    const { secret } = await invoke(client, "webhooks.getSharedSecret", undefined, options);
    const next = await invoke(client, "webhooks.generateOrRotateSharedSecret", undefined, options);
    want("another secret", [secret.length, next.secret !== secret], [64, true]);
  } finally {
    await on("deactivate");
  }
  want("listed after its end", await listed(), false);
  return { pages: 1, items: 1, keys: Object.keys(made).sort() };
}

// changeAddresses adds an address to a webhook and takes it away again.
async function changeAddresses(call, on, want, pages) {
  const { addresses } = call.request.metadata;
  const addressesChangeRequest = { addresses: [call.more] };
  want("more addresses", (await on("addresses.add", { addressesChangeRequest })).metadata.addresses.length, addresses.length + 1);
  const seen = [];
  for await (const page of pages()) seen.push(...page.addresses);
  want("the addresses", seen.length, addresses.length + 1);
  want("fewer addresses", (await on("addresses.remove", { addressesChangeRequest })).metadata.addresses.length, addresses.length);
}

// keepAddresses tries to change the addresses of a webhook of another type than
// address_activity: the SDKs say that it is not possible.
async function keepAddresses(on, want) {
  const addressesChangeRequest = { addresses: ["0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"] };
  for (const method of ["addresses.add", "addresses.remove"]) {
    const status = await on(method, { addressesChangeRequest }).then(() => 200, (err) => err.statusCode);
    want(method, status, 400);
  }
}

// walk reads all pages. A page that does not parse throws, and so does a token
// that was there before: the walk would never end.
async function walk(client, call, options) {
  const rows = new Set();
  const tokens = new Set();
  const listed = call.key && [];
  const sums = Object.keys(call.sum ?? {}).map((member) => [member, 0]);
  let pages = 0, items = 0;
  for await (const page of pagesOf(client, call, options)) {
    const list = page[call.rows];
    if (!Array.isArray(list)) throw new Error(`page ${pages + 1} has no list ${call.rows}`);
    pages++;
    items += list.length;
    for (const row of list) {
      rows.add(digest(JSON.stringify(row)));
      listed?.push(call.key(row));
      for (const sum of sums) sum[1] += row[sum[0]];
    }
    const token = page.nextPageToken;
    if (token !== undefined && tokens.has(token)) throw new Error(`page ${pages} has the token of an earlier page`);
    tokens.add(token);
    if (pages > maxPages) throw new Error(`more than ${maxPages} pages`);
  }
  for (const [member, value] of sums) {
    if (value !== call.sum[member]) throw new Error(`the rows have ${value} as ${member}, not ${call.sum[member]}`);
  }
  const repeated = items - rows.size;
  if (repeated && !call.repeats) throw new Error(`${repeated} of ${items} rows came twice`);
  return { pages, items, listed };
}

// pagesOf follows the SDK's own iterator, or the token by hand where an SDK has
// none for a paged endpoint.
async function* pagesOf(client, call, options) {
  let answer = await invoke(client, call.name, call.request, options);
  if (typeof answer[Symbol.asyncIterator] === "function") {
    for await (const page of answer) yield page.result;
    return;
  }
  for (;;) {
    yield answer;
    if (!answer.nextPageToken) return;
    answer = await invoke(client, call.name, { ...call.request, pageToken: answer.nextPageToken }, options);
  }
}

// digest is cyrb53, of 53 bits: rows that differ have other digests for all that
// is to be expected, and both kinds of programs have it.
function digest(text) {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 2654435761);
    b = Math.imul(b ^ c, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

// answered has the methods that have answered in the present call.
const answered = new Set();

async function invoke(client, name, request, options) {
  const path = name.split(".");
  const method = path.pop();
  const owner = path.reduce((o, part) => o[part], client);
  const answer = await (request === undefined ? owner[method](options) : owner[method](request, options));
  answered.add(name);
  return answer;
}

// isRefusal tells whether an SDK has read an error body as the class of its status.
function isRefusal(err, status) {
  const data = err?.data$ ?? err;
  return err?.statusCode === status && data?.statusCode === status &&
    typeof data.message === "string" && data.message !== "" && typeof data.error === "string" &&
    !/Validation|^SDKError$|^AvalancheAPIError$/.test(err.name);
}

// describe keeps what is needed to find out why an answer did not parse.
function describe(err) {
  const cause = err?.cause;
  return {
    name: err?.name,
    message: cut(err?.message ?? String(err)),
    status: err?.statusCode,
    cause: cause && cut(cause.message ?? String(cause)),
    body: cut(typeof err?.body === "string" ? err.body : JSON.stringify(err?.rawValue ?? null)),
  };
}

function cut(text) {
  return text && text.length > 2000 ? `${text.slice(0, 2000)}...` : text;
}
