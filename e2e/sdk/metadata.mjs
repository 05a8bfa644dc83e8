// Has both official SDKs read the metadata of tokens, ask for them again, and wait until
// they are others. Prints one line of JSON for each SDK.
//
//   node metadata.mjs FACTS_FILE SERVER_URL
//
// Exit codes: 0 all was well, 1 not, 2 wrong usage.
import { readFile } from "node:fs/promises";
import { AvaCloudSDK } from "@avalabs/avacloud-sdk";
import { Avalanche } from "@avalanche-sdk/chainkit";

const [factsFile, serverURL] = process.argv.slice(2);
if (!serverURL || process.argv.length > 4) {
  console.error("usage: node metadata.mjs FACTS_FILE SERVER_URL");
  process.exit(2);
}
const { chainId, nftOwner } = JSON.parse(await readFile(factsFile, "utf8"));
const options = { serverURL, retries: { strategy: "none" }, timeoutMs: 60_000 };
// A token is not fetched twice within a minute.
const most = 150_000;

// inIPFS returns a token of the owner whose URI leads to IPFS: each SDK asks for its own.
async function inIPFS(client, nth) {
  const request = { chainId, address: nftOwner, pageSize: 100 };
  for await (const page of await client.data.evm.address.balances.listCollectibles(request, options)) {
    const { collectibleBalances } = page.result ?? page;
    for (const { ercType, address, tokenId, tokenUri } of collectibleBalances) {
      if (ercType === "ERC-721" && tokenUri.startsWith("ipfs://") && nth-- === 0) return { chainId, address, tokenId };
    }
  }
  throw new Error("no token's metadata are in IPFS");
}

// indexed waits until a token's metadata are there, with another name than before.
async function indexed(client, token, before) {
  const end = performance.now() + most;
  for (;;) {
    const { metadata } = await client.data.nfts.get(token, options);
    if (metadata.indexStatus === "INDEXED" && metadata.name !== before) return metadata;
    if (performance.now() > end) throw new Error(`after ${most} ms: ${JSON.stringify(metadata)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function walk(client, nth) {
  const token = await inIPFS(client, nth);
  const first = await indexed(client, token);
  await client.data.nfts.reindex(token, options);
  const second = await indexed(client, token, first.name);
  const again = await client.data.nfts.reindex(token, options).then(() => 201, (err) => err.statusCode);
  return { tokenId: token.tokenId, first, second, again };
}

const sdks = { "avacloud-sdk": new AvaCloudSDK({ serverURL }), chainkit: new Avalanche({ enableTelemetry: false }) };
await Promise.all(Object.entries(sdks).map(async ([sdk, client], nth) => {
  try {
    console.log(JSON.stringify({ sdk, ...(await walk(client, nth)) }));
  } catch (err) {
    console.log(JSON.stringify({ sdk, error: `${err?.name}: ${err?.message}` }));
    process.exitCode = 1;
  }
}));
