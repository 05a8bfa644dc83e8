// The calls that are made, the same through both SDKs: their names, requests and
// answers agree (each SDK leaves out request members that it does not know).

// A call is {endpoint, name, request, rows?, fixed?, repeats?}:
//   endpoint  its number in the contract
//   name      where the SDK has it; the last part is the method
//   rows      the list in each page; without it the answer is a single object
//   fixed     new blocks cannot change the answer
//   empty     there need not be any row
//   repeats   equal rows are possible: an ERC-1155 batch may move the same item twice
//   error     the status that is wanted instead of an answer
//   first     a list or an object, and what to take of its first row or of itself for the request
//   exported  the answer is an operation, whose file has the rows that this call lists
//   hooked    the answer is a webhook, which is changed and deleted; more is an address for it,
//             without one its addresses cannot be changed
//   only      the SDK that alone knows the call, or the metric
//   member    what the answer must have
//   key       what the program prints of each row

const longPages = { pageSize: 100 };
const unknownHash = "0x" + "ab".repeat(32);

// evmCalls gives the calls for one EVM chain of the facts.
export function evmCalls(f) {
  const on = { chainId: f.chainId };
  const blocks = { startBlock: f.startBlock, endBlock: f.endBlock };
  // A window for the calls with many short pages.
  const last = { startBlock: Math.max(f.startBlock, f.endBlock - 20), endBlock: f.endBlock };
  return [
    ...transactions(f, on, blocks, last),
    ...transfers(f, on, blocks, last),
    ...blocksOf(f, on),
    ...parts(f, on, blocks),
    ...balances(f, on),
    ...metrics(f),
    ...holders(f, on),
    ...exports(f, on, blocks),
    ...webhooks(f, on),
    ...refusals(f, on),
  ];
}

function transactions(f, on, blocks, last) {
  const address = (request) => ({
    endpoint: "2", name: "data.evm.address.transactions.list", rows: "transactions",
    request: { ...on, address: f.address, ...request },
  });
  const block = (request) => ({
    endpoint: "10", name: "data.evm.blocks.listTransactions", rows: "transactions", fixed: true,
    request: { ...on, ...request },
  });
  const latest = (request) => ({
    endpoint: "12", name: "data.evm.transactions.listLatest", rows: "transactions", request: { ...on, ...request },
  });
  const one = (txHash) => ({ endpoint: "tx", name: "data.evm.transactions.get", fixed: true, request: { ...on, txHash } });
  return [
    { ...address({ ...blocks, ...longPages }), fixed: true },
    { ...address({ ...blocks, ...longPages, sortOrder: "asc" }), fixed: true },
    { ...address({ ...last }), fixed: true },
    { ...address({ ...last, pageSize: 1, address: f.address.toLowerCase() }), fixed: true },
    { ...address({ ...last, chainId: f.blockchainId }), fixed: true },
    address({ ...longPages, address: f.contract ?? f.erc20Token }),
    block({ blockId: f.blockId }),
    block({ blockId: f.blockHash }),
    block({ blockId: f.blockId, pageSize: 1 }),
    latest(longPages),
    latest({ ...longPages, status: "failed" }),
    latest({ ...longPages, status: "success" }),
    one(f.txHash),
    ...(f.failedTxHash ? [one(f.failedTxHash)] : []),
    ...(f.warpTxHash ? [one(f.warpTxHash)] : []),
  ];
}

function transfers(f, on, blocks, last) {
  const received = (request) => ({
    endpoint: "6", name: "data.evm.address.transactions.listErc721", rows: "transactions",
    request: { ...on, address: f.nftOwner, ...request },
  });
  const token = (address, request) => ({
    endpoint: "8", name: "data.evm.contracts.listTransfers", rows: "transfers", request: { ...on, address, ...request },
  });
  return [
    { ...received({ ...blocks, ...longPages }), fixed: true },
    { ...received({ ...blocks }), fixed: true },
    received({ ...longPages }),
    { ...token(f.erc20Token, { ...blocks, ...longPages }), fixed: true },
    { ...token(f.erc20Token, { ...last, pageSize: 2 }), fixed: true },
    { ...token(f.nftContract, { ...blocks, ...longPages }), fixed: true },
    { ...token(f.erc1155Contract, { ...blocks, ...longPages }), fixed: true, repeats: true },
    ...(f.hostileToken ? [token(f.hostileToken, longPages)] : []),
  ];
}

// blocks of a chain.
function blocksOf(f, on) {
  const call = (name, rows, request) => ({ endpoint: "evm", name: `data.evm.blocks.${name}`, rows, request: { ...on, ...request } });
  return [
    call("listLatest", "blocks", longPages),
    call("get", undefined, { blockId: f.blockId }),
    { ...call("get", undefined, { blockId: f.blockHash }), fixed: true },
    { ...call("get", undefined, { blockId: unknownHash }), error: 404 },
    { ...call("get", undefined, { blockId: "latest" }), error: 400 },
  ];
}

// icmCalls gives the calls for interchain messages, of which facts.icm names some.
export function icmCalls({ icm }) {
  if (!icm) return [];
  const call = (name, rows, request) => ({ endpoint: "icm", name: `data.${name}`, rows, request });
  const { messageId, pendingId, address, source, destination } = icm;
  return [
    ...["icm.get", "teleporter.getTeleporterMessage"].flatMap((name) => [
      ...[messageId, pendingId].map((id) => call(name, undefined, { messageId: id })),
      { ...call(name, undefined, { messageId: unknownHash }), error: 404 },
      { ...call(name, undefined, { messageId: "x" }), error: 400 },
    ]),
    ...["icm.list", "teleporter.listTeleporterMessages"].flatMap((name) => [
      call(name, "messages", {}),
      call(name, "messages", { pageSize: 2 }),
      call(name, "messages", { sourceBlockchainId: source, destinationBlockchainId: destination, network: "fuji" }),
      call(name, "messages", { blockchainId: source, to: address }),
      call(name, "messages", { from: address, pageSize: 100 }),
      { ...call(name, "messages", { from: "0x1" }), error: 400 },
    ]),
    ...["icm.listByAddress", "teleporter.listTeleporterMessagesByAddress"].map((name) => call(name, "messages", { address })),
    ...Object.entries(icm.transactions).map(([chainId, txHash]) =>
      ({ endpoint: "icm", name: "data.evm.transactions.get", request: { chainId, txHash }, member: "teleporterMessageInfo" })),
    ...icmMetrics(icm),
  ];
}

// icmMetrics returns the calls for the numbers of messages. counts has what chains have sent
// and received, and pairs what went from one blockchain to another.
function icmMetrics({ counts, pairs }) {
  const on = (method, request, more) => ({ endpoint: "icm", name: `metrics.chains.${method}`, request, ...more });
  const all = pairs.reduce((sum, p) => sum + p.messages, 0);
  const network = "fuji";
  return [
    ...Object.entries(counts).flatMap(([chainId, { sent, received }]) =>
      Object.entries({ teleporterSourceTxnCount: sent, teleporterDestinationTxnCount: received, teleporterTotalTxnCount: sent + received })
        .map(([metric, value]) => on("getTeleporterMetrics", { chainId, metric }, { only: "avacloud-sdk", wants: { "result.value": value } }))),
    on("getICMSummary", { network }, { only: "chainkit", wants: { "result.allTime": all } }),
    on("getICMTimeseries", { network, timeInterval: "day", pageSize: 50 }, { only: "chainkit", rows: "results", sum: { value: all } }),
    ...pairs.flatMap(({ source, destination, messages }) => {
      const of = { network, srcBlockchainId: source, destBlockchainId: destination };
      const groupBy = "srcBlockchainId,destBlockchainId";
      return [
        on("getICMSummary", { ...of, groupBy }, { only: "chainkit", wants: { "result.allTime": messages } }),
        on("getICMTimeseries", { ...of, groupBy, timeInterval: "month" }, { only: "chainkit", rows: "results", sum: { value: messages } }),
      ];
    }),
  ];
}

// lists gives the lists that grow with their chains.
export function lists(f) {
  const evm = (name, rows, key, request) => ({ name: `data.evm.${name}`, rows, key, request: { chainId: f.chainId, ...request } });
  const primary = (name, rows, key, blockchainId) =>
    ({ name: `data.primaryNetwork.${name}`, rows, key, request: { network: f.network, blockchainId, ...longPages } });
  const block = ({ blockNumber, blockHash }) => `${blockNumber} ${blockHash}`;
  const sent = ({ nativeTransaction: { txHash } }) => txHash;
  return [
    evm("blocks.listLatest", "blocks", block, { pageSize: 50 }),
    evm("transactions.listLatest", "transactions", ({ txHash }) => txHash, longPages),
    evm("address.transactions.list", "transactions", sent, { address: f.address, pageSize: 50 }),
    primary("blocks.listLatest", "blocks", block, "p-chain"),
    primary("transactions.listLatest", "transactions", ({ txHash }) => txHash, "p-chain"),
  ];
}

// parts of transactions, and contracts as such: calls that the contract does not name.
function parts(f, on, blocks) {
  const call = (name, rows, request) => ({ endpoint: "evm", name: `data.evm.${name}`, rows, request: { ...on, ...request } });
  const listed = (name, address, request) => call(`address.transactions.${name}`, "transactions", { address, ...request });
  return [
    { ...listed("listNative", f.address, { ...blocks, ...longPages }), fixed: true },
    listed("listNative", f.address, {}),
    { ...listed("listErc20", f.address, { ...blocks, ...longPages }), fixed: true, repeats: true },
    listed("listErc20", f.address, { pageSize: 3 }),
    { ...listed("listErc1155", f.nftOwner, longPages), repeats: true },
    { ...listed("listInternal", f.contract ?? f.erc20Token, { ...blocks, ...longPages }), fixed: true, repeats: true },
    call("chains.get", undefined, {}),
    call("contracts.getMetadata", undefined, { address: f.erc20Token }),
    call("contracts.getMetadata", undefined, { address: f.nftContract }),
    call("contracts.getMetadata", undefined, { address: f.erc1155Contract }),
    ...(f.contractCreator ? [
      call("address.contracts.listDeployments", "contracts", { address: f.contractCreator, ...longPages }),
      { ...call("contracts.getDeploymentTransaction", undefined, { address: f.contract }), fixed: true },
      call("contracts.getMetadata", undefined, { address: f.contract }),
    ] : []),
    { ...call("contracts.getDeploymentTransaction", undefined, { address: "0x00000000000000000000000000000000000000ff" }), error: 404 },
    call("address.chains.list", undefined, { address: f.address }),
    call("chains.getAddressChains", undefined, { address: f.address }),
  ];
}

function balances(f, on) {
  const native = (request) => ({
    endpoint: "15", name: "data.evm.address.balances.getNative", request: { ...on, address: f.address, ...request },
  });
  const tokens = (request) => ({
    endpoint: "7", name: "data.evm.address.balances.listErc20", rows: "erc20TokenBalances",
    request: { ...on, address: f.address, ...request },
  });
  const nfts = (request) => ({
    endpoint: "11", name: "data.evm.address.balances.listErc721", rows: "erc721TokenBalances",
    request: { ...on, address: f.nftOwner, ...request },
  });
  return [
    native({}),
    native({ currency: "usd" }),
    { ...native({ blockNumber: f.blockNumber }), fixed: true },
    { ...native({ blockNumber: f.blockNumber, chainId: f.blockchainId }), fixed: true },
    tokens({}),
    tokens({ pageSize: 1, currency: "eur" }),
    { ...tokens({ pageSize: 500, filterSpamTokens: false, blockNumber: f.blockNumber }), fixed: true },
    { ...tokens({ contractAddresses: `${f.erc20Token},${f.nftContract}`, blockNumber: f.blockNumber }), fixed: true },
    nfts({}),
    nfts({ pageSize: 500 }),
    nfts({ contractAddress: f.nftContract }),
    ...items(f, on),
  ];
}

// items are tokens with IDs: calls that the contract does not name.
function items(f, on) {
  const of = (name, rows, request) => ({
    endpoint: "evm", name: `data.evm.address.balances.${name}`, rows, request: { ...on, address: f.nftOwner, ...request },
  });
  const nfts = (name, rows, request) => ({ endpoint: "evm", name: `data.nfts.${name}`, rows, request: { ...on, address: f.nftContract, ...request } });
  return [
    of("listErc1155", "erc1155TokenBalances", { pageSize: 500 }),
    { ...of("listErc1155", "erc1155TokenBalances", { blockNumber: f.blockNumber, pageSize: 2 }), fixed: true },
    { ...of("listErc1155", "erc1155TokenBalances", { contractAddress: f.nftContract }), empty: true },
    of("listCollectibles", "collectibleBalances", { pageSize: 500 }),
    of("listCollectibles", "collectibleBalances", { contractAddress: f.erc1155Contract, pageSize: 1 }),
    nfts("list", "tokens", longPages),
    nfts("list", "tokens", { address: f.erc1155Contract }),
    ...[f.nftContract, f.erc1155Contract].map((address) => ({
      ...nfts("get", undefined, { address }), first: { ...nfts("list", "tokens", { address }), take: ({ tokenId }) => ({ tokenId }) },
    })),
    { ...nfts("get", undefined, { tokenId: "99999999999" }), error: 404 },
    { ...nfts("get", undefined, { tokenId: "one" }), error: 400 },
    ...[f.nftContract, f.erc1155Contract].map((address) => ({
      endpoint: "evm", name: "metrics.chains.listNftHolders", rows: "addresses", only: "avacloud-sdk", request: { ...on, address, pageSize: 50 },
    })),
  ];
}

// What metrics may be asked for, by what intervals; only chainkit knows the last two.
const everyInterval = ["hour", "day", "week", "month"];
const metricIntervals = {
  activeAddresses: everyInterval, activeSenders: everyInterval, gasUsed: everyInterval, txCount: everyInterval,
  feesPaid: everyInterval, cumulativeTxCount: ["day"], cumulativeAddresses: ["day"], cumulativeContracts: ["day"],
  cumulativeDeployers: ["day"], avgGps: ["day"], maxGps: ["day"], avgTps: ["day"], maxTps: ["day"], avgGasPrice: ["day"],
  maxGasPrice: ["day"], contracts: ["day"], deployers: ["day"],
};
const chainkitMetrics = ["contracts", "deployers"];
// Over windows that end now avacloud-sdk knows fewer of them.
const rollingOfChainkit = ["contracts", "deployers", "activeAddresses", "activeSenders"];
const monthInSeconds = 31 * 24 * 60 * 60;

// grows checks that all windows are there, and that there is something in the longest.
function grows({ result }) {
  if (!(result.allTime > 0)) throw new Error(`of all time there is ${result.allTime}`);
  for (const window of ["lastHour", "lastDay", "lastMonth", "lastYear"]) {
    if (typeof result[window] !== "number") throw new Error(`${window} is ${result[window]}`);
  }
}

function metrics(f) {
  const metric = (name, request) => ({
    endpoint: "4", name: "metrics.chains.getMetrics", rows: "results",
    only: chainkitMetrics.includes(name) ? "chainkit" : undefined,
    request: { chainId: f.chainId, metric: name, ...request },
  });
  // The last of these months is over, whatever blocks come.
  const past = { startTimestamp: f.firstTimestamp, endTimestamp: f.lastTimestamp - monthInSeconds };
  const calls = [];
  for (const [name, intervals] of Object.entries(metricIntervals)) {
    calls.push(metric(name, {}));
    for (const timeInterval of intervals) {
      calls.push(metric(name, { timeInterval, pageSize: 2160 }));
      calls.push({ ...metric(name, { timeInterval, pageSize: timeInterval === "hour" ? 1000 : 7, ...past }), fixed: true });
    }
    for (const timeInterval of everyInterval.filter((t) => !intervals.includes(t))) {
      calls.push({ ...metric(name, { timeInterval }), error: 400 });
    }
  }
  for (const chainId of ["total", "testnet"]) {
    for (const name of Object.keys(metricIntervals)) calls.push(metric(name, { chainId, pageSize: 500 }));
  }
  const windows = (name, request) => ({
    ...metric(name, request), endpoint: "windows", name: "metrics.chains.getRollingWindowMetrics", rows: undefined,
    only: rollingOfChainkit.includes(name) ? "chainkit" : undefined, check: grows,
  });
  for (const name of Object.keys(metricIntervals).filter((n) => !n.startsWith("cumulative"))) {
    calls.push(windows(name, {}), windows(name, { chainId: "total" }));
  }
  return [
    ...calls,
    { ...windows("txCount", { chainId: "1234567890123" }), error: 404 },
    { ...metric("txCount", { chainId: "1234567890123" }), error: 404 },
    { ...metric("txCount", { pageSize: 2161 }), error: 400 },
  ];
}

function holders(f, on) {
  const above = (request) => ({
    endpoint: "18", name: "metrics.chains.listTokenHoldersAboveThreshold", rows: "addresses", only: "avacloud-sdk",
    request: { ...on, address: f.erc20Token, threshold: f.holderThreshold, ...request },
  });
  const past = { startTimestamp: f.firstTimestamp, endTimestamp: f.lastTimestamp };
  return [
    above({}),
    above({ threshold: "0", pageSize: 50 }),
    { ...above({ ...past, pageSize: 7 }), fixed: true },
    { ...above({ ...past, pageSize: 5000, threshold: "0" }), fixed: true },
    { ...above({ threshold: "many" }), error: 400 },
    { ...above({ chainId: "total" }), error: 404 },
  ];
}

// exports are held against the pages of the same addresses and blocks.
function exports(f, on, blocks) {
  const exported = (address, request) => ({
    endpoint: "3", name: "data.operations.exportTransactions",
    request: { type: "TRANSACTION_EXPORT_EVM", ...request, options: { addresses: [address], includeChains: [f.chainId] } },
    exported: { name: "data.evm.address.transactions.list", rows: "transactions", request: { ...on, ...blocks, ...longPages, address } },
  });
  const refused = (request) => ({ endpoint: "3", name: "data.operations.exportTransactions", request, error: 400 });
  const options = { addresses: [f.address], includeChains: [f.chainId] };
  return [
    exported(f.address),
    exported(f.nftOwner, { lastDate: "2999-12-31" }),
    refused({ type: "TRANSACTION_EXPORT_EVM", firstDate: "yesterday", options }),
    refused({ type: "TRANSACTION_EXPORT_EVM", options: { ...options, includeChains: ["1234567890123"] } }),
    refused({ type: "TRANSACTION_EXPORT_PRIMARY_NETWORK", options: { addresses: [], includeChains: ["p-chain"] } }),
    { endpoint: "3", name: "data.operations.getResult", request: { operationId: "00000000-0000-4000-8000-000000000000" }, error: 404 },
  ];
}

// webhooks are for a host that is nowhere: nothing is delivered.
function webhooks(f, on) {
  const hook = (request) => ({
    endpoint: "webhooks", name: "webhooks.create", fixed: true,
    request: { eventType: "address_activity", url: "https://127.0.0.1:9/quorate", name: "test", description: "of the SDKs", ...on, metadata: { addresses: [f.address] }, ...request },
  });
  return [
    { ...hook({ includeInternalTxs: true }), hooked: true, more: f.erc20Token },
    { ...hook({ url: "ftp://127.0.0.1/" }), error: 400 },
    { ...hook({ includeLogs: true }), error: 400 },
    { endpoint: "webhooks", name: "webhooks.get", request: { id: "00000000-0000-4000-8000-000000000000" }, error: 404 },
  ];
}

// primaryWebhooks are those of the two types of the primary network.
function primaryWebhooks(f, network) {
  const hook = (eventType, request) => ({
    endpoint: "webhooks", name: "webhooks.create", fixed: true,
    request: { eventType, url: "https://127.0.0.1:9/quorate", name: "test", description: "of the SDKs", network, ...request },
  });
  const addresses = (chainId, balanceType, metadata) => hook("primary_network_address_activity", {
    chainId,
    metadata: {
      keyType: "addresses", keys: f.rewardAddresses.slice(0, 3).map((a) => a.replace(/^P-/, "")), balanceThresholdFilter: { balanceType, balanceThreshold: "1000000000" },
      subEvents: { addressActivitySubEvents: ["balance_change", "balance_threshold", "reward_distribution"] }, ...metadata,
    },
  });
  const validators = (metadata) => hook("validator_activity", {
    metadata: {
      keyType: "nodeId", keys: [f.nodeIds[0]], ...metadata,
      subEvents: { validatorActivitySubEvents: ["validator_stake", "delegator_stake", "reward_distribution", "l1_validator_balance_increased", "l1_validator_removed"] },
    },
  });
  return [
    { ...addresses("p-chain", "unlockedUnstaked"), hooked: true },
    { ...addresses("x-chain", "unlocked"), hooked: true },
    { ...validators(), hooked: true },
    { ...validators({ keyType: "subnetId", keys: [f.subnetId], nodeIds: f.nodeIds.slice(0, 2) }), hooked: true },
    { ...addresses("p-chain", "atomicMemoryUnlocked"), error: 400 },
    { ...validators({ keys: f.nodeIds.slice(0, 2) }), error: 400 },
  ];
}

// refusals are answered with the documented error body.
function refusals(f, on) {
  return [
    { endpoint: "tx", name: "data.evm.transactions.get", request: { ...on, txHash: unknownHash }, error: 404 },
    { endpoint: "15", name: "data.evm.address.balances.getNative", request: { ...on, address: "0x12" }, error: 400 },
    { endpoint: "15", name: "data.evm.address.balances.getNative", request: { chainId: "1234567890123", address: f.address }, error: 404 },
    { endpoint: "12", name: "data.evm.transactions.listLatest", request: { ...on, pageToken: "forged" }, error: 400 },
    { endpoint: "12", name: "data.evm.transactions.listLatest", request: { ...on, pageSize: 101 }, error: 400 },
    { endpoint: "10", name: "data.evm.blocks.listTransactions", request: { ...on, blockId: unknownHash }, error: 404 },
  ];
}

// serverCalls gives the calls that are for no chain in particular.
export function serverCalls(f) {
  const network = f.network;
  const chains = (request) => ({ endpoint: "17", name: "data.evm.chains.list", rows: "chains", fixed: true, request });
  const signature = (request) => ({
    endpoint: "1", name: "data.signatureAggregator.aggregate", fixed: true,
    request: { network, signatureAggregatorRequest: { message: f.signature.message, ...request } },
  });
  return [
    chains({}),
    chains({ network }),
    chains({ feature: "nftIndexing" }),
    ...["transactions.listLatestAllChains", "chains.listAllLatestTransactions"].flatMap((name) => [longPages, { network, status: "failed", pageSize: 100 }].map(
      (request) => ({ endpoint: "evm", name: `data.evm.${name}`, rows: "transactions", request }))),
    ...["blocks.listLatestAllChains", "chains.listAllLatestBlocks"].flatMap((name) => [longPages, { network, pageSize: 100 }].map(
      (request) => ({ endpoint: "evm", name: `data.evm.${name}`, rows: "blocks", request }))),
    { endpoint: "service", name: "data.healthCheck", request: undefined },
    { endpoint: "service", name: "metrics.healthCheck", request: undefined },
    { endpoint: "service", name: "data.liveCheck", request: undefined, only: "chainkit" },
    { endpoint: "service", name: "metrics.liveCheck", request: undefined, only: "chainkit" },
    { endpoint: "service", name: "metrics.chains.list", rows: "chains", request: { network } },
    { endpoint: "service", name: "metrics.chains.get", request: { chainId: f.chainId } },
    signature({}),
    signature({ quorumPercentage: 67, signingSubnetId: f.signature.signingSubnetId }),
    { ...signature({ quorumPercentage: 101 }), error: 400 },
    ...(f.warpTxHash
      ? [
        { endpoint: "1", name: "data.signatureAggregator.get", fixed: true, request: { network, txHash: f.warpTxHash } },
        { endpoint: "1", name: "data.signatureAggregator.get", fixed: true, request: { network },
          first: { name: "data.signatureAggregator.get", request: { network, txHash: f.warpTxHash }, take: messageId } },
      ]
      : []),
  ];
}

// messageId takes the ID of a signed message: the digest of what comes before the signature.
async function messageId({ signedMessage }) {
  const bytes = Uint8Array.from(signedMessage.match(/../g), (digits) => parseInt(digits, 16));
  const unsigned = bytes.slice(0, 42 + new DataView(bytes.buffer).getUint32(38));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", unsigned));
  return { txHash: `0x${Array.from(digest, (b) => b.toString(16).padStart(2, "0")).join("")}` };
}

// l1Metrics are of the fees that validators of L1s pay: of all, and of one that was an L1's.
function l1Metrics(f) {
  const first = (take) => ({
    name: "data.primaryNetwork.listL1Validators", rows: "validators",
    request: { network: f.network, includeInactiveL1Validators: true, pageSize: 1 }, take,
  });
  return [
    ["listMetrics", undefined, ["totalCumulativeFeesDaily", "totalValidatorFeesDaily", "totalPayingValidatorsDaily"]],
    ["getMetricsByNodeId", ({ nodeId }) => ({ nodeId }), ["perNodeCumulativeFeesPaid", "perNodeDailyFeesPaid"]],
    ["getMetricsBySubnetId", ({ subnetId }) => ({ subnetId }), ["perSubnetCumulativeFeesPaid", "perSubnetDailyFeesPaid", "perSubnetPayingValidators"]],
    ["getMetricsByValidationId", ({ validationId }) => ({ l1ValidationId: validationId }), ["validationCumulativeFeesDaily", "validationFeesDaily"]],
  ].flatMap(([name, take, metrics]) => metrics.map((metric) => ({
    endpoint: "primary", name: `metrics.l1Validators.${name}`, rows: "results", request: { metric }, first: take && first(take),
  })));
}

// single are calls for one of what the lists of the primary network have.
function single(f, other) {
  const addresses = f.rewardAddresses.slice(0, 20).join(",");
  const x = { blockchainId: "x-chain" };
  const asset = { ...other("transactions.listLatest", "transactions", { ...x, txTypes: ["CreateAssetTx"] }), take: ({ txHash }) => ({ assetId: txHash }) };
  const vertex = { ...other("vertices.listLatest", "vertices", x), take: ({ vertexHash }) => ({ vertexHash }) };
  const posted = { only: "chainkit" };
  const body = { primaryNetworkAddressesBodyDto: { addresses } };
  return [
    ...["p-chain", "x-chain"].flatMap((blockchainId) => [
      { ...other("transactions.get", undefined, { blockchainId }),
        first: { ...other("transactions.listLatest", "transactions", { blockchainId }), take: ({ txHash }) => ({ txHash }) } },
      { ...other("utxos.listByAddressesV2", "utxos", { blockchainId, includeSpent: true, pageSize: 10, ...body }), ...posted },
      { ...other("utxos.getLastActivityTimestampByAddresses", undefined, { blockchainId, addresses }), ...posted },
      { ...other("utxos.getLastActivityTimestampByAddressesV2", undefined, { blockchainId, ...body }), ...posted },
    ]),
    other("getSubnetById", undefined, { subnetId: f.subnetId }),
    ...f.blockchainIds.slice(0, 2).map((blockchainId) => other("getBlockchainById", undefined, { blockchainId })),
    // These are on the P-Chain alone, whose ID is the same on all networks.
    { ...other("getChainIdsForAddresses", undefined, { addresses: f.validators.map((v) => v.stakingAddress).join(",") }), member: "addresses" },
    { ...other("vertices.getByHash", undefined, x), first: vertex },
    { ...other("getAssetDetails", undefined, x), first: asset },
    { ...other("transactions.listAssetTransactions", "transactions", { ...x, pageSize: 2 }), first: asset },
    { ...other("transactions.get", undefined, { blockchainId: "p-chain", txHash: f.subnetId }), error: 404 },
    { ...other("getAssetDetails", undefined, { ...x, assetId: f.subnetId }), error: 404 },
    { ...other("vertices.getByHash", undefined, { ...x, vertexHash: f.subnetId }), error: 404 },
  ];
}

// primaryCalls gives the calls for the primary network. IDs of a private network's
// chains cannot be sent: the SDKs know those of mainnet and Fuji alone.
export function primaryCalls(f) {
  const call = (endpoint, name, rows, request) =>
    ({ endpoint, name: `data.primaryNetwork.${name}`, rows, request: { network: f.network, ...request } });
  const other = (name, rows, request) => call("primary", name, rows, request);
  const nodeIds = f.nodeIds.slice(0, 50).join(",");
  const addresses = f.rewardAddresses.slice(0, 20).join(",");
  const vertices = { blockchainId: "x-chain", vertexHeight: f.vertexHeight };
  return [
    call("5", "listSubnets", "subnets", { pageSize: 2 }),
    call("5", "listSubnets", "subnets", { pageSize: 10000, sortOrder: "asc" }),
    call("9", "rewards.listHistoricalRewards", "historicalRewards", { nodeIds, pageSize: 5 }),
    call("9", "rewards.listHistoricalRewards", "historicalRewards", { addresses, sortOrder: "asc", currency: "eur" }),
    ...[{}, { sortOrder: "asc" }, { delegationStatus: "active" }, { delegationStatus: "pending" }, { delegationStatus: "completed" }, { nodeIds },
      { rewardAddresses: addresses }].map((request) => ({
      ...call("13", "listDelegators", "delegators", { pageSize: 7, ...request }), empty: request.delegationStatus !== undefined,
    })),
    call("14", "vertices.listByHeight", "vertices", { ...vertices, pageSize: 1 }),
    call("14", "vertices.listByHeight", "vertices", { ...vertices, sortOrder: "asc" }),
    ...["p-chain", "x-chain", "c-chain"].flatMap((blockchainId) => [
      call("16", "blocks.listLatest", "blocks", { blockchainId, pageSize: 100 }),
      other("blocks.get", undefined, { blockchainId, blockId: "1" }),
      { ...other("blocks.listByNodeId", "blocks", { blockchainId, nodeId: f.nodeIds[0], pageSize: 100 }), empty: true },
      { ...other("transactions.listLatest", "transactions", { blockchainId, pageSize: 100 }), empty: blockchainId === "c-chain" },
      { ...other("transactions.listLatest", "transactions", { blockchainId, addresses, pageSize: 10, sortOrder: "asc" }), empty: true },
      other("balances.listByAddresses", undefined, { blockchainId, addresses }),
      { ...other("utxos.listByAddresses", "utxos", { blockchainId, addresses, pageSize: 10, includeSpent: true }), empty: true },
    ]),
    other("getNetworkDetails", undefined, {}),
    { endpoint: "primary", name: "avaxSupply.get", request: undefined, only: "chainkit" },
    other("listBlockchains", "blockchains", { pageSize: 2 }),
    ...["active", "pending", "completed", "removed"].map((validationStatus) =>
      ({ ...other("listValidators", "validators", { validationStatus, pageSize: 10 }), empty: validationStatus !== "active" })),
    other("getValidatorDetails", "validators", { nodeId: f.nodeIds[0] }),
    { ...other("listL1Validators", "validators", { includeInactiveL1Validators: true, pageSize: 3 }), empty: true },
    { ...other("rewards.listPendingRewards", "pendingRewards", { nodeIds }), empty: true },
    { ...other("transactions.listActiveStakingTransactions", "transactions", { blockchainId: "p-chain" }), empty: true },
    other("vertices.listLatest", "vertices", { blockchainId: "x-chain", pageSize: 100 }),
    ...[{}, { pageSize: 2 }, { network: f.network, endTimestamp: 4_000_000_000 }].map((request) => ({
      endpoint: "primary", name: "metrics.subnets.getValidators", rows: "addresses", repeats: true,
      request: { subnetId: "11111111111111111111111111111111LpoYY", ...request } })),
    ...["validatorCount", "validatorWeight", "delegatorCount", "delegatorWeight"].map((metric) =>
      ({ endpoint: "primary", name: "metrics.networks.getStakingMetrics", rows: "results", request: { network: f.network, metric, pageSize: 1000 } })),
    ...l1Metrics(f),
    ...single(f, other),
    ...primaryWebhooks(f, f.network),
    { ...call("9", "rewards.listHistoricalRewards", "historicalRewards", {}), error: 400 },
    { ...call("16", "blocks.listLatest", "blocks", { network: "mainnet", blockchainId: "p-chain" }), error: 404 },
    { ...call("13", "listDelegators", "delegators", { pageSize: 101 }), error: 400 },
  ];
}
