// Checks that the code in documents and docstrings compiles, see scripts/docs/snippet-modules.ts. A test compiles that of documents against the
// packed package.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { snippetModules } from './docs/snippet-modules.js'

const config = {
  extends: resolve('tsconfig.json'),
  compilerOptions: {
    verbatimModuleSyntax: false,
    allowImportingTsExtensions: true,
    paths: Object.fromEntries(
      Object.entries({
        zin: 'core/index.ts',
        'zin/testing': 'core/testing.ts',
        'zin/signing': 'core/signing/index.ts',
        'zin/signer': 'core/signing/client.ts',
        'zin/clients': 'plugins/sql-wire/clients/index.ts',
        'zin/plugins': 'plugins/index.ts',
        'zin/plugins/*': 'plugins/*/index.ts',
      }).map(([name, path]) => [name, [resolve(path)]]),
    ),
  },
  include: ['**/*.snippet.ts'],
  exclude: [],
}

/** Outside of the tree, and kept: what is unchanged since the last check is not checked again. */
const folder = resolve('node_modules/.cache/zin/snippets')

const snippets = snippetModules(resolve('scripts/docs/given.ts').replaceAll('\\', '/'))
const written = new Map([['tsconfig.json', JSON.stringify(config)], ['package.json', '{ "type": "module" }'], ...snippets])
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.snippet.ts') && !written.has(name.replaceAll('\\', '/'))) rmSync(join(folder, name))
}
for (const [name, text] of written) {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
const args = ['--noEmit', '--checkers', '1', '--pretty', 'false', '--incremental', '--tsBuildInfoFile', 'state.tsbuildinfo', '-p', '.']
const tsc = spawnSync(process.execPath, [resolve('node_modules/ts7/bin/tsc'), ...args], { cwd: folder, encoding: 'utf8' })
if (tsc.status !== 0) console.error(`${tsc.stdout}${tsc.stderr}`.replaceAll(/\.\d+\.snippet\.ts\(/g, '('))
process.exitCode = tsc.status === 0 && snippets.size > 0 ? 0 : 1
