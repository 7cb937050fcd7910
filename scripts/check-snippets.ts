// Checks that the code in documents and docstrings compiles: every fence `ts` or `js`, and every `@example`. Names that a snippet does not
// import are imported from its own file, scripts/docs/given.ts, zin and its plugins, in this order.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { examplesOf, exportedNames, fencesOf, freeNames, type Snippet } from './docs/extract.js'

const skipped = new Set(['node_modules', 'dist', 'coverage', '.git', '.zin'])

function files(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return []
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? files(path) : [path]
  })
}

/** The modules from which missing names are imported, with their exports. The first module that exports a name wins. */
function modules(): ReadonlyMap<string, readonly string[]> {
  const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))
  const entries = [
    [resolve('scripts/docs/given.ts'), 'scripts/docs/given.ts'],
    ['zin', 'core/index.ts'],
    ['zin/testing', 'core/testing.ts'],
    ['zin/signer', 'core/signing/client.ts'],
    ...plugins.map((name) => [`zin/plugins/${name}`, `plugins/${name}/index.ts`]),
  ] as const
  return new Map(entries.map(([name = '', path = '']) => [name, exportedNames(path)]))
}

/** The imports that a snippet omits, on one line. */
function importsFor(snippet: Snippet, shared: ReadonlyMap<string, readonly string[]>): string {
  const free = new Set(freeNames(snippet))
  const own = snippet.path.endsWith('.ts') ? [[resolve(snippet.path), exportedNames(snippet.path)] as const] : []
  const lines = [...own, ...shared].flatMap(([from, names]) => {
    const taken = names.filter((name) => free.delete(name))
    return taken.length === 0 ? [] : [`import { ${taken.join(', ')} } from '${from.replaceAll('\\', '/')}'`]
  })
  return lines.join('; ')
}

/** A module whose line numbers match those of the document, so that errors point there. */
function moduleOf(snippet: Snippet, shared: ReadonlyMap<string, readonly string[]>): string {
  return `${importsFor(snippet, shared)}; export {};${'\n'.repeat(snippet.line - 1)}${snippet.code}`
}

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

const all = files('.')
const documents = all.filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
const sources = all.filter((path) => /^(core|plugins)\/.*(?<!\.(test|contract))\.ts$/.test(path))
const snippets = [...documents.flatMap((path) => fencesOf(path)), ...sources.flatMap((path) => examplesOf(path))]

/** Outside of the tree, and kept: what is unchanged since the last check is not checked again. */
const folder = resolve('node_modules/.cache/zin/snippets')

const shared = modules()
const written = new Map([
  ['tsconfig.json', JSON.stringify(config)],
  ['package.json', '{ "type": "module" }'],
  ...snippets.map((snippet) => [`${snippet.path}.${snippet.line}.snippet.ts`, moduleOf(snippet, shared)] as const),
])
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
process.exitCode = tsc.status === 0 && snippets.length > 0 ? 0 : 1
