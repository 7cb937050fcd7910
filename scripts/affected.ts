// Which files a change can break, by the graph of what each file needs to run. Imports of types are left out: the type check covers them.
import { dirname, join, normalize } from 'node:path'

/** The text of each file by its path, `/`-separated and relative to the root. Only the texts of code and style sheets are read. */
export type Tree = ReadonlyMap<string, string>

/** Path of the module of each public name of the package, as in `paths` of tsconfig.json; both may contain one `*`. */
export type Entries = Readonly<Record<string, string>>

/** Names taken from another module, each with its name here. */
interface Import {
  readonly from: string
  readonly names: ReadonlyMap<string, string> | 'all'
}

interface Module {
  readonly imports: readonly Import[]
  /** `export … from`: needed only by who imports such a name from here. */
  readonly passedOn: readonly Import[]
  /** Modules of which only types are imported. */
  readonly types: readonly string[]
  /** Texts that may be paths of files, or names of examples. */
  readonly texts: ReadonlySet<string>
}

/** Whether needsOf reads the text of a file. */
export const isRead = (path: string): boolean => /\.(tsx?|m?js|cjs|css)$/.test(path)

const named = /\b(import|export)\s+(type\s+)?(?:[\w$]+\s*,\s*)?(?:\*(?:\s+as\s+[\w$]+)?|\{([^}]*)\}|[\w$]+)\s+from\s+(['"])([^'"\n]+)\4/g
const unnamed = /\bimport\s*\(?\s*(['"])([^'"\n]+)\1/g
const styles = /@import\s+(?:url\()?(['"])([^'"\n]+)\1/g
const text = /(['"`])((?:\.{1,2}\/)*[\w@.-]+(?:\/[\w@.-]+)*)\1/g

/** What a program needs besides its imports: what is in the build, and what that reads. `*` is a name. */
const built: Readonly<Record<string, readonly string[]>> = {
  'scripts/app-process.ts': ['core/cli.ts'],
  'scripts/pack.ts': ['core/cli.ts', 'core/index.ts', 'plugins/index.ts'],
  'core/cli/standalone.ts': ['plugins/*/standalone.ts'],
  'plugins/console/assets.ts': ['plugins/console/app/main.tsx'],
  'plugins/console/app/main.tsx': ['plugins/console/app/style.css'],
}

/** What each file needs to run, by path. */
export type Needs = ReadonlyMap<string, ReadonlySet<string>>

export interface Graph {
  readonly needs: Needs
  /** Files of which only types are used, so that no test depends on what they do. */
  readonly typesOnly: ReadonlySet<string>
}

/** The graph of what each file needs. */
export function needsOf(tree: Tree, entries: Entries): Graph {
  const modules = new Map([...tree].filter(([path]) => isRead(path)).map(([path, content]) => [path, parse(path, content)]))
  const stored = (target: string): string | undefined =>
    [target, target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx')].find((one) => tree.has(one))
  const locate = (path: string, name: string): string | undefined => {
    const target = name.startsWith('.') ? beside(path, name) : entryOf(name, entries)
    return target === undefined ? undefined : stored(target)
  }
  const namedBy = (pattern: string): readonly string[] => {
    const [start = '', end] = pattern.split('*')
    return end === undefined ? [pattern] : [...tree.keys()].filter((path) => path.startsWith(start) && path.endsWith(end))
  }
  /** The modules through which a name comes to `path`, the one that defines it last. */
  const origin = (path: string, name: string, seen: ReadonlySet<string> = new Set()): readonly string[] => {
    const others = modules.get(path)?.passedOn ?? []
    for (const { from, names } of seen.has(path) ? [] : others) {
      const source = locate(path, from)
      const there = names === 'all' ? name : [...names].find(([, here]) => here === name)?.[0]
      if (source === undefined || there === undefined) continue
      const deeper = origin(source, there, new Set([...seen, path]))
      if (names !== 'all' || defines(tree.get(deeper.at(-1) ?? '') ?? '', there)) return [path, ...deeper]
    }
    return [path]
  }
  const allOf = (path: string, seen = new Set<string>()): ReadonlySet<string> => {
    if (seen.has(path)) return seen
    seen.add(path)
    for (const { from, names } of modules.get(path)?.passedOn ?? []) {
      const source = locate(path, from)
      if (source === undefined) continue
      if (names === 'all') allOf(source, seen)
      else for (const name of names.keys()) for (const file of origin(source, name)) seen.add(file)
    }
    return seen
  }
  const needs = ([path, { imports, texts }]: readonly [string, Module]): readonly [string, ReadonlySet<string>] => {
    const found = new Set((built[path] ?? []).flatMap(namedBy).flatMap((file) => [...allOf(file)]))
    for (const { from, names } of imports) {
      const source = locate(path, from)
      if (source === undefined) continue
      const files = names === 'all' ? [allOf(source)] : [...names.keys()].map((name) => origin(source, name))
      for (const file of files.flatMap((some) => [...some])) found.add(file)
    }
    for (const one of texts) {
      const file = locate(path, one) ?? (one.includes('/') ? stored(one) : undefined)
      if (file !== undefined) found.add(file)
      if (path.startsWith('scripts/')) for (const inside of tree.keys()) if (inside.startsWith(`examples/${one}/`)) found.add(inside)
    }
    found.delete(path)
    return [path, found]
  }
  const all = new Map([...modules].map(needs))
  const used = new Set([...all.values()].flatMap((files) => [...files]))
  const typed = [...modules].flatMap(([path, { types }]) => types.map((name) => locate(path, name)))
  return { needs: all, typesOnly: new Set(typed.filter((file) => file !== undefined && !used.has(file)) as string[]) }
}

/** The files that need a changed one, each with the number of steps to the nearest; the changed ones with 0. */
export function affected(needs: Needs, changed: Iterable<string>): ReadonlyMap<string, number> {
  const users = new Map<string, string[]>()
  for (const [path, files] of needs) for (const file of files) users.set(file, [...(users.get(file) ?? []), path])
  const steps = new Map([...changed].map((path) => [path, 0]))
  for (const [path, count] of steps) for (const user of users.get(path) ?? []) if (!steps.has(user)) steps.set(user, count + 1)
  return steps
}

/** Comments hold examples, which import what they show. */
const comment = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm

function parse(path: string, file: string): Module {
  const content = file.replaceAll(comment, '')
  const imports: Import[] = []
  const passedOn: Import[] = []
  const types: string[] = []
  if (path.endsWith('.css')) {
    for (const [, , from = ''] of content.matchAll(styles)) imports.push({ from, names: 'all' })
    return { imports, passedOn, types, texts: new Set() }
  }
  for (const [, keyword, typeOnly, list, , from = ''] of content.matchAll(named)) {
    const names = list === undefined ? 'all' : namesOf(list)
    if (typeOnly !== undefined || (names !== 'all' && names.size === 0)) types.push(from)
    else (keyword === 'export' ? passedOn : imports).push({ from, names })
  }
  for (const [, , from = ''] of content.matchAll(unnamed)) imports.push({ from, names: 'all' })
  const rest = content.replaceAll(named, '').replaceAll(unnamed, '')
  return { imports, passedOn, types, texts: new Set([...rest.matchAll(text)].map(([, , one = '']) => one)) }
}

/** `a, b as c, type D` → a → a, b → c. */
function namesOf(list: string): ReadonlyMap<string, string> {
  const names = list
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '' && !one.startsWith('type '))
  return new Map(names.map((one) => one.split(/\s+as\s+/)).map(([name = '', here = name]) => [name, here]))
}

function defines(content: string, name: string): boolean {
  return new RegExp(`\\bexport\\s+(?:declare\\s+|abstract\\s+|async\\s+)*[a-z]+\\*?\\s+${name.replaceAll('$', '\\$')}\\b`).test(content)
}

const beside = (path: string, name: string): string => normalize(join(dirname(path), name)).replaceAll('\\', '/')

function entryOf(name: string, entries: Entries): string | undefined {
  for (const [pattern, target] of Object.entries(entries)) {
    const [start = '', end] = pattern.split('*')
    if (end === undefined ? name === pattern : name.startsWith(start) && name.length > start.length) {
      return normalize(target.replace('*', name.slice(start.length))).replaceAll('\\', '/')
    }
  }
  return undefined
}
