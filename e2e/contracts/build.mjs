// Compiles the contracts of this folder into the .hex files beside them, which
// hold creation bytecode, or that of the contract where a genesis places it. Only needed after a change to a .sol file:
//
//   mkdir /tmp/contracts && cd /tmp/contracts
//   npm install solc@0.8.37 @openzeppelin/contracts@5.7.0
//   node /path/to/e2e/contracts/build.mjs
//
// It reads the packages from the working directory.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = join(process.cwd(), 'node_modules');
const solc = createRequire(join(packages, 'x.js'))('solc');
const deployed = [
  'Art', 'Box', 'Claims', 'Coin', 'Factory', 'Fee', 'Inbox', 'Items', 'Rebasing', 'Renamed', 'Router', 'Wrapped',
];
const placed = ['Messenger']; // in a genesis, without its creation // by tests, see contracts.go
const here = dirname(fileURLToPath(import.meta.url));

const sources = {};
for (const file of readdirSync(here).filter((f) => f.endsWith('.sol')).sort()) {
  sources[file] = { content: readFileSync(join(here, file), 'utf8') };
}
const input = {
  language: 'Solidity',
  sources,
  settings: {
    evmVersion: 'cancun', // what the C-Chain runs
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  },
};
const read = (path) => ({ contents: readFileSync(join(packages, path), 'utf8') });
const output = JSON.parse(solc.compile(JSON.stringify(input), { import: read }));
const errors = (output.errors ?? []).filter((e) => e.severity === 'error');
if (errors.length > 0) {
  console.error(errors.map((e) => e.formattedMessage).join('\n'));
  process.exit(1);
}
for (const file of Object.keys(sources)) {
  for (const [name, contract] of Object.entries(output.contracts[file])) {
    const code = contract.evm.bytecode.object;
    if (deployed.includes(name)) writeFileSync(join(here, `${name}.hex`), code + '\n');
    if (placed.includes(name)) writeFileSync(join(here, `${name}.hex`), contract.evm.deployedBytecode.object + '\n');
  }
}
