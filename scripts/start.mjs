// npm start: installs and builds what is missing, then serves examples/full.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkNode, ensureBuilt, ensureInstalled, root, runNode } from './setup.mjs'

const app = join(root, 'examples', 'full')

checkNode()
ensureInstalled()
ensureBuilt()
await ensureKeys()
process.exitCode = await runNode([join(root, 'dist', 'cli.js'), 'start', ...process.argv.slice(2)], { cwd: app })

/** Creates the app's `.env`, as `zin new` would. */
async function ensureKeys() {
  const file = join(app, '.env')
  if (existsSync(file)) return
  const { generateKeys } = await import(pathToFileURL(join(root, 'dist', 'core', 'cli', 'scaffold.js')).href)
  writeFileSync(file, generateKeys(readFileSync(join(app, '.env.example'), 'utf8')), { mode: 0o600, flag: 'wx' })
  console.log(`Created ${file} with new keys`)
}
