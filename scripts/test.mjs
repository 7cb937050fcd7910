// npm test: installs what is missing, runs the checks, and runs the tests against private servers.
//   npm test -- <part of a path> …     only those tests, without the other checks
//   npm test -- --changed [revision]   the checks, and the tests that a change since the revision (default HEAD) can break
//                                      and part of a path: only those of them, without the checks
//   npm run test:embedded              only tests that need no server and no browser

import { ensureServers } from './servers.mjs'
import { checkNode, ensureBuilt, ensureInstalled, runNode } from './setup.mjs'

checkNode()
const args = process.argv.slice(2)
const embedded = args.includes('--embedded')
// The revision may be left out.
const changed = args.indexOf('--changed')
if (changed >= 0) {
  const named = args[changed + 1] !== undefined && !args[changed + 1].startsWith('-')
  args.splice(changed, named ? 2 : 1, `--changed=${named ? args[changed + 1] : 'HEAD'}`)
}
const subset = args.some((arg) => !arg.startsWith('-'))

const installed = ensureInstalled()
if (installed) console.log('Installed the packages of package-lock.json')
if (!embedded) ensureServers()
// A single test can be run while other files do not compile.
ensureBuilt({ mayFail: subset })
process.exitCode = await runNode(['--import', 'tsx', 'scripts/test.ts', ...(subset ? [] : ['--checks']), ...args])
