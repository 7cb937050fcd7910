// The code of documents and docstrings as modules: every fence `ts` or `js`, and every `@example`. Names that a snippet does not import are
// imported from its own file, scripts/docs/given.ts, zin and its plugins, in this order.
import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { examplesOf, exportedNames, fencesOf, freeNames, type Snippet } from './extract.js'

const skipped = new Set(['node_modules', 'dist', 'coverage', '.git', '.zin'])

function files(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return []
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? files(path) : [path]
  })
}

/** The modules from which missing names are imported, with their exports. The first module that exports a name wins. */
function modules(given: string): ReadonlyMap<string, readonly string[]> {
  const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))
  const entries = [
    [given, 'scripts/docs/given.ts'],
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

/**
 * The modules by file name.
 *
 * @param given where the modules import the names of scripts/docs/given.ts from.
 * @param which `documents`: without the examples in docstrings, which may use what their file does not publish.
 */
export function snippetModules(given: string, which: 'all' | 'documents' = 'all'): ReadonlyMap<string, string> {
  const all = files('.')
  const documents = all.filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
  const sources = which === 'all' ? all.filter((path) => /^(core|plugins)\/.*(?<!\.(test|contract))\.ts$/.test(path)) : []
  const snippets = [...documents.flatMap((path) => fencesOf(path)), ...sources.flatMap((path) => examplesOf(path))]
  const shared = modules(given)
  return new Map(snippets.map((snippet) => [`${snippet.path}.${snippet.line}.snippet.ts`, moduleOf(snippet, shared)]))
}
