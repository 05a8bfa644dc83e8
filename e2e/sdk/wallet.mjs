// Asks a server, as its only address, by Ava Labs' library for wallets: first for what
// transactions are built with, then to have a transaction of the P-Chain accepted. Prints
// what came as JSON.
//
//   node wallet.mjs SERVER_URL PRIVATE_KEY_HEX
import { setTimeout } from "node:timers/promises";
import { addTxSignatures, Context, info, pvm, secp256k1, TransferableOutput, utils } from "@avalabs/avalanchejs";

const [url, key] = process.argv.slice(2);
const api = new info.InfoApi(url);
const platform = new pvm.PVMApi(url);
const context = await Context.getContextFromURI(url);
const out = {
  context,
  networkName: (await api.getNetworkName()).networkName,
  nodeVersion: (await api.getNodeVersion()).version,
  helicon: (await api.getUpgradesInfo()).heliconTime,
  vms: Object.keys((await api.getVMs()).vms).length,
  peers: (await api.peers()).peers.length,
};

const secret = utils.hexToBuffer(key);
const owner = secp256k1.publicKeyBytesToAddress(secp256k1.getPublicKey(secret));
const { utxos } = await platform.getUTXOs({ addresses: [utils.format("P", context.hrp, owner)] });
const tx = pvm.newBaseTx(
  {
    feeState: await platform.getFeeState(),
    fromAddressesBytes: [owner],
    outputs: [TransferableOutput.fromNative(context.avaxAssetID, 1_000_000_000n, [owner])],
    utxos,
  },
  context,
);
await addTxSignatures({ unsignedTx: tx, privateKeys: [secret] });
out.txID = (await platform.issueSignedTx(tx.getSignedTx())).txID;
do {
  await setTimeout(200);
  out.status = (await platform.getTxStatus({ txID: out.txID })).status;
} while (out.status === "Processing" || out.status === "Unknown");
console.log(JSON.stringify(out, (_, v) => (typeof v === "bigint" ? Number(v) : v)));
