// Type-checks the repository, and each example against the built package, as users do.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'

const examples = readdirSync('examples')
  .map((name) => `examples/${name}/tsconfig.json`)
  .filter((path) => existsSync(path))
// Parallel checkers repeat each other's work: on two cores, one is faster than four.
const tsc = ['node_modules/ts7/bin/tsc', '--noEmit', '--checkers', '1']
// The console is written in TSX and runs in browsers, so it has its own configuration.
const projects = ['tsconfig.json', 'plugins/console/app/tsconfig.json', ...examples]
const failed = projects.filter((project) => spawnSync(process.execPath, [...tsc, '-p', project], { stdio: 'inherit' }).status !== 0)
if (failed.length > 0) console.error(`Type errors in ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
