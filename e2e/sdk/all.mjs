// Makes all calls through both SDKs, in Node.js as in a browser.
import { evmCalls, icmCalls, primaryCalls, serverCalls } from "./calls.mjs";
import { run } from "./run.mjs";

// callAll makes the calls to the server at url, of the endpoints in wanted or of
// all but the one in without, and hands each line that tells of one to print. It returns how many there were.
export async function callAll({ facts, url, wanted, without, apiKey, print }) {
  const { sdks, options } = await clients({ url, apiKey, print });
  const chains = facts.evmChains ?? [facts];
  const primary = facts.vertexHeight === undefined ? [] : primaryCalls(facts);
  const calls = [...(facts.signature ? serverCalls(facts) : []), ...icmCalls(facts), ...primary, ...chains.flatMap(evmCalls)].filter((c) => c.endpoint !== without && (!wanted || wanted.has(c.endpoint)));
  for (const call of calls) {
    for (const [sdk, client] of Object.entries(sdks)) {
      if (!call.only || call.only === sdk) print({ sdk, ...(await run(client, call, options)) });
    }
  }
  return calls.length;
}

// clients returns both SDKs as clients of the server at url, and the options of their calls.
export async function clients({ url, apiKey, print }) {
  guardFetch(new URL(url).origin, print);
  const { AvaCloudSDK } = await import("@avalabs/avacloud-sdk");
  const { Avalanche } = await import("@avalanche-sdk/chainkit");
  const sdks = {
    "avacloud-sdk": new AvaCloudSDK({ serverURL: url, apiKey }),
    chainkit: new Avalanche({ enableTelemetry: false, apiKey }),
  };
  return { sdks, options: { serverURL: url, retries: { strategy: "none" }, timeoutMs: 60_000 } };
}

// guardFetch: nothing but the server may be spoken to, whatever an SDK has built in.
function guardFetch(origin, print) {
  const realFetch = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    const target = new URL(input instanceof Request ? input.url : input);
    if (target.origin !== origin) {
      print({ call: "fetch", error: { name: "ForeignHost", message: `an SDK called ${target.origin}` } });
      return Promise.reject(new Error(`calls to ${target.origin} are not allowed`));
    }
    return realFetch(input, init);
  };
}
