// Runs after `npm install` in a checkout (never in an installed package, which contains no scripts): makes `import 'zin'` and the command
// `zin` work in examples/, and records which lock file the packages were installed from.
import { lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installStamp, lockDigest, root } from './setup.mjs'

const modules = join(root, 'node_modules')
mkdirSync(join(modules, '.bin'), { recursive: true })
if (process.platform === 'win32') {
  // On Windows, only junctions can be created without special permissions, and they need an absolute target.
  link(root, join(modules, 'zin'), 'junction')
} else {
  link('..', join(modules, 'zin'), 'dir')
  link('../../dist/cli.js', join(modules, '.bin', 'zin'), 'file')
}
writeFileSync(installStamp, lockDigest())

function link(target, path, type) {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) rmSync(path, { recursive: true })
  symlinkSync(target, path, type)
}
