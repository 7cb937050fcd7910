// Checks that no file contains a machine-specific path, the address of a package registry or a merge conflict, and that all plugins have the
// same layout.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { shapeProblems } from './plugin-shape.js'

const skipped = new Set(['node_modules', 'dist', 'coverage', '.git', '.zin', '.env'])
const rules: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /(^|[\s"'`(=])\/(work|root|home\/\w+|Users\/\w+)\/\w/m, what: 'a machine-specific absolute path' },
  { pattern: /https?:\/\/[^\s"'/]*\bregistry\b|https?:\/\/registry\./, what: 'the address of a package registry' },
  { pattern: /^(<{7}|>{7}) .*$/m, what: 'a merge conflict' },
]

function files(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (skipped.has(entry.name)) return []
    return entry.isDirectory() ? files(path) : [path]
  })
}

function problemsOf(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8')
  const found = rules
    .filter(({ pattern }) => pattern.test(text))
    .map(({ pattern, what }) => `${path} contains ${what}: ${pattern.exec(text)?.[0].trim()}`)
  const addresses = path === 'package-lock.json' && text.includes('"resolved"')
  return addresses ? [...found, `${path} contains download addresses; create it again with omit-lockfile-registry-resolved=true`] : found
}

const paths = files('.')
const sources = paths.filter((path) => path.endsWith('.ts'))
const shape = shapeProblems(sources.map((path) => ({ path: path.split(sep).join('/'), text: readFileSync(path, 'utf8') })))
const problems = [...paths.flatMap(problemsOf), ...shape]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
