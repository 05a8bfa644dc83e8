// Prints a line of JSON for each method that the installed official SDKs offer, with the
// request that it makes as the packages' own code has it.
//
//   node methods.mjs
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);
const nowhere = "http://127.0.0.1:1"; // nothing is sent
const { AvaCloudSDK } = require("@avalabs/avacloud-sdk");
const { Avalanche } = require("@avalanche-sdk/chainkit");
const sdks = {
  "avacloud-sdk": ["@avalabs/avacloud-sdk", new AvaCloudSDK({ serverURL: nowhere })],
  chainkit: ["@avalanche-sdk/chainkit", new Avalanche({ enableTelemetry: false })],
};

// methodsOf hands each method of an object and of those that its getters return to found.
const methodsOf = (object, path, found) => {
  for (let p = Object.getPrototypeOf(object); p && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    for (const [name, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(p))) {
      if (name === "constructor" || name.startsWith("_")) continue;
      const inner = get ? object[name] : undefined;
      if (inner && typeof inner === "object") methodsOf(inner, [...path, name], found);
      if (typeof value === "function") found([...path, name].join("."), value.toString());
    }
  }
};

for (const [sdk, [name, client]] of Object.entries(sdks)) {
  const funcs = join(dirname(require.resolve(name)), "funcs");
  methodsOf(client, [], (method, text) => {
    const line = { sdk, name: method };
    const func = text.match(/\.(\w+)\)\(this\b/)?.[1]; // what makes the request
    if (func) {
      const source = readFileSync(join(funcs, func + ".js"), "utf8");
      line.path = source.match(/const path = .*pathToFunc\)\("([^"]+)"/)?.[1];
      line.method = source.match(/^\s+method: "([A-Z]+)",$/m)?.[1];
      const query = source.match(/const query = .*encodeFormQuery\)\(\{([^}]*)\}/)?.[1] ?? "";
      line.query = [...query.matchAll(/^\s*"?(\w+)"?:/gm)].map((m) => m[1]);
      line.pages = text.includes("unwrapResultIterator");
      line.bare = !text.includes("(this, request");
    }
    console.log(JSON.stringify(line));
  });
}
