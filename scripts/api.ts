// Writes the public surface of the package as text, one file per entry point in scripts/api, from the type declarations.
// With --check it only compares, so that changes of the surface are visible in review.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { surfacesOf } from './api/surface.js'
import { declarationFiles, digestOf, unlessPassed } from './passed.js'
import { isBuilt } from './setup.mjs'

const folder = 'scripts/api'

/** The entry points of package.json: their names, and their declarations in `dist`. The one that only re-exports plugins comes last. */
function entryPoints(): readonly (readonly [string, string])[] {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, { types?: string } | string> }
  const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))
  const entries = Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string' || target.types === undefined) return []
    const types = target.types.replace('./dist/', '')
    const names = path.includes('*') ? plugins : ['']
    return names.map((name) => [path.replace('.', 'zin').replace('*', name), types.replace('*', name)] as const)
  })
  return entries.sort(([a], [b]) => Number(a === 'zin/plugins') - Number(b === 'zin/plugins'))
}

/** The text of every entry point by file name. */
function texts(declarations: string): ReadonlyMap<string, string> {
  const surfaces = surfacesOf(entryPoints().map(([name, types]) => [name, join(declarations, types)]))
  return new Map(
    [...surfaces].map(([name, text]) => [
      `${name.replaceAll('/', '-')}.txt`,
      `// What can be imported from '${name}'. Written by npm run api.\n\n${text}`,
    ]),
  )
}

/** Lines of one text that the other lacks. */
function lacking(text: string, other: string): readonly string[] {
  const known = new Set(other.split('\n'))
  return text.split('\n').filter((line) => !known.has(line))
}

function compare(made: ReadonlyMap<string, string>): readonly string[] {
  const kept = new Set(readdirSync(folder).filter((name) => name.endsWith('.txt')))
  return [...new Set([...made.keys(), ...kept])].flatMap((name) => {
    const now = made.get(name) ?? ''
    const before = kept.has(name) ? readFileSync(join(folder, name), 'utf8') : ''
    if (now === before) return []
    const lines = [...lacking(before, now).map((line) => `  - ${line}`), ...lacking(now, before).map((line) => `  + ${line}`)]
    return [`${folder}/${name}: the public surface has changed\n${lines.slice(0, 20).join('\n')}`]
  })
}

function write(made: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) if (name.endsWith('.txt') && !made.has(name)) rmSync(join(folder, name))
  for (const [name, text] of made) writeFileSync(join(folder, name), text)
}

/** Compares or writes; returns the exit code. */
function run(made: ReadonlyMap<string, string>, check: boolean): number {
  if (!check) {
    write(made)
    return 0
  }
  const problems = compare(made)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) console.error('If the change is intended, run npm run api and commit the result')
  return problems.length > 0 ? 1 : 0
}

/** Calls `use` with a folder of declarations: those of the build if it is newer than the sources, otherwise new ones. */
function withDeclarations(use: (folder: string) => number): number {
  if (isBuilt()) return use('dist')
  const declarations = mkdtempSync(join(tmpdir(), 'zin-api-'))
  try {
    const args = ['node_modules/ts7/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', declarations]
    // The compiler has printed the errors.
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
    return status === 0 ? use(declarations) : 1
  } finally {
    rmSync(declarations, { recursive: true })
  }
}

const check = process.argv.includes('--check')
const compared = (): readonly string[] => readdirSync(folder).map((name) => join(folder, name))
const digest = check && isBuilt() ? digestOf([...declarationFiles(), ...compared()]) : undefined
const passed = await unlessPassed('api', digest, () => withDeclarations((declarations) => run(texts(declarations), check)) === 0)
process.exitCode = passed ? 0 : 1
