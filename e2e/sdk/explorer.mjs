// Asks a server by ethers' provider for Etherscan, and by viem and ethers over chain RPC, and
// compares what they say. Prints a line of JSON with how many answers were compared.
//
//   node explorer.mjs FACTS_FILE
//
// ethers knows a list of chains and one host: its own hook for requests leads them here.
//
// Exit codes: 0 all was well, 1 something differed, 2 wrong usage.
import { readFileSync } from "node:fs";
import { EtherscanProvider, FetchRequest, Interface, JsonRpcProvider } from "ethers";
import { createPublicClient, erc20Abi, http } from "viem";

const [file] = process.argv.slice(2);
if (!file) {
  console.error("usage: node explorer.mjs FACTS_FILE");
  process.exit(2);
}
const facts = JSON.parse(readFileSync(file, "utf8"));
const rpc = `${facts.baseUrl}/ext/bc/${facts.blockchainId}/rpc`;
const known = "43113"; // stands for the chain
const send = FetchRequest.createGetUrlFunc();
FetchRequest.registerGetUrl((request, signal) => {
  const url = new URL(request.url);
  if (url.host === "api.etherscan.io") {
    url.searchParams.set("chainid", facts.chainId);
    request.url = facts.baseUrl + url.pathname + url.search;
  }
  return send(request, signal);
});

let compared = 0, failed = 0;
const canonical = (v) => JSON.stringify(v, (_, x) => (typeof x === "bigint" ? x.toString() : typeof x === "string" ? x.toLowerCase() : x));
const same = (name, got, want) => {
  compared++;
  if (canonical(got) === canonical(want) && want !== undefined) return;
  failed++;
  console.error(`${name}: ${canonical(got)}, want ${canonical(want)}`);
};

const explorer = new EtherscanProvider(Number(known));
const node = new JsonRpcProvider(rpc, Number(facts.chainId), { staticNetwork: true, batchMaxCount: 1 });
const viem = createPublicClient({ transport: http(rpc) });
const { address, erc20Token: token, txHash, failedTxHash, contract } = facts;
const number = Number(facts.blockNumber);

// What the provider itself asks for.
same("balance at a block", await explorer.getBalance(address, number), await node.getBalance(address, number));
same("code", await explorer.getCode(token), await node.getCode(token));
same("nonce", await explorer.getTransactionCount(contract), await node.getTransactionCount(contract));
same("gas price", typeof (await explorer.getFeeData()).gasPrice, "bigint");
same("block number", (await explorer.getBlockNumber()) >= number, true);
for (const full of [false, true]) {
  same("block", (await explorer.getBlock(number, full)).toJSON(), (await node.getBlock(number, full)).toJSON());
}
for (const hash of [txHash, failedTxHash]) {
  same("transaction", (await explorer.getTransaction(hash)).toJSON(), (await node.getTransaction(hash)).toJSON());
  same("receipt", (await explorer.getTransactionReceipt(hash)).toJSON(), (await node.getTransactionReceipt(hash)).toJSON());
}
const erc20 = new Interface(erc20Abi);
const call = { to: token, data: erc20.encodeFunctionData("balanceOf", [address]) };
same("call", await explorer.call(call), await node.call(call));
same("a contract that is not verified", await explorer.getContract(token), null);
same("a contract's own word", erc20.decodeFunctionResult("balanceOf", await explorer.call(call))[0], await viem.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [address] }));

// Lists, each row held against the chain RPC.
const list = (module, action, params) => explorer.fetch(module, { action, ...params });
const rows = await list("account", "txlist", { address, startblock: 0, endblock: number, page: 1, offset: 200 });
same("rows", rows.length > 50, true);
for (const row of rows.filter((_, i) => i % 10 === 0)) {
  const tx = await viem.getTransaction({ hash: row.hash }), receipt = await viem.getTransactionReceipt({ hash: row.hash });
  same("row", [row.blockNumber, row.blockHash, row.from, row.to, row.value, row.gas, row.nonce, row.input, row.transactionIndex],
    [String(tx.blockNumber), tx.blockHash, tx.from, tx.to ?? "", String(tx.value), String(tx.gas), String(tx.nonce), tx.input, String(tx.transactionIndex)]);
  same("row's receipt", [row.gasUsed, row.cumulativeGasUsed, row.gasPrice, row.txreceipt_status, row.contractAddress],
    [String(receipt.gasUsed), String(receipt.cumulativeGasUsed), String(receipt.effectiveGasPrice), receipt.status === "success" ? "1" : "0", receipt.contractAddress ?? ""]);
  same("status", (await list("transaction", "gettxreceiptstatus", { txhash: row.hash })).status, row.txreceipt_status);
}
const moved = await list("account", "tokentx", { contractaddress: token, page: 1, offset: 100 });
same("transfers", moved.length > 20, true);
for (const row of moved.filter((_, i) => i % 10 === 0)) {
  const { logs } = await viem.getTransactionReceipt({ hash: row.hash });
  const log = logs.find((l) => l.logIndex === Number(row.logIndex));
  const { args } = erc20.parseLog(log) ?? { args: [] };
  same("transfer", [log.address, row.from, row.to, row.value], [row.contractAddress, args[0], args[1], args[2]]);
}
const toBlock = BigInt(number), fromBlock = toBlock - 500n;
const logged = await viem.getLogs({ address: token, fromBlock, toBlock });
same("logs", logged.length > 20, true);
same("logs of a contract", (await list("logs", "getLogs", { address: token, fromBlock, toBlock })).map((l) => [l.transactionHash, BigInt(l.logIndex), BigInt(l.blockNumber), l.topics, l.data]),
  logged.map((l) => [l.transactionHash, BigInt(l.logIndex), l.blockNumber, l.topics, l.data]));
const topic0 = logged[0].topics[0];
same("logs by topic", (await list("logs", "getLogs", { topic0, fromBlock, toBlock, offset: 1000 })).map((l) => [l.transactionHash, BigInt(l.logIndex)]),
  (await node.getLogs({ topics: [topic0], fromBlock, toBlock })).slice(0, 1000).map((l) => [l.transactionHash, BigInt(l.index)]));
const supply = await viem.readContract({ address: token, abi: erc20Abi, functionName: "totalSupply" });
same("supply", await list("stats", "tokensupply", { contractaddress: token }), String(supply));
const [made] = await list("contract", "getcontractcreation", { contractaddresses: contract });
const maker = await viem.getTransaction({ hash: made.txHash });
same("creation", [made.contractCreator, made.blockNumber], [maker.from, String(maker.blockNumber)]);

console.log(JSON.stringify({ compared, failed }));
process.exit(failed ? 1 : 0);
