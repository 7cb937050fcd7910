// Checks scripts/spec.md: each row of a table of the specification names a test that fails without it, by its file and its title.
import { existsSync, readFileSync } from 'node:fs'

const file = 'scripts/spec.md'

/** The rows of a Markdown table, each as its cells; an escaped bar is part of a cell. */
function cellsOf(line: string): readonly string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
}

/** The titles of the tests of a file, as they are written: one that is made for each row of a table contains the expressions. */
function titlesOf(path: string): ReadonlySet<string> {
  const calls = readFileSync(path, 'utf8').matchAll(/\b(?:it|test)\(\s*(['"`])((?:\\.|\$\{(?:[^`}]|`[^`]*`)*\}|(?!\1)[^\\])*)\1\s*,/g)
  return new Set([...calls].map(([, , title = '']) => title.replaceAll(/\\(['"`])/g, '$1')))
}

/** Why a reference such as "`plugins/jwt/tokens.test.ts` refuses a revoked token" names no test; undefined if it does. */
function faultOf(reference: string): string | undefined {
  const [, path, title = ''] = /^`([^`]+)` (.+)$/.exec(reference) ?? []
  if (path === undefined || !/\.(test|contract)\.ts$/.test(path)) return `"${reference}" is not a test file in backticks and a title`
  if (!existsSync(path)) return `there is no ${path}`
  return titlesOf(path).has(title) ? undefined : `${path} has no test "${title}"`
}

const lines = readFileSync(file, 'utf8').split('\n')
const problems = lines.flatMap((line, index) => {
  const isRow = line.startsWith('|') && !line.startsWith('|---') && lines[index + 1]?.startsWith('|---') !== true
  if (!isRow) return []
  const test = cellsOf(line).at(-1) ?? ''
  const faults = test === '' ? ['no test is named'] : test.split('<br>').flatMap((reference) => faultOf(reference.trim()) ?? [])
  return faults.map((fault) => `${file}:${index + 1} ${cellsOf(line)[0]}: ${fault}`)
})
const rows = lines.filter((line) => line.startsWith('|') && !line.startsWith('|---')).length
if (rows < 100) problems.push(`${file} has only ${rows} rows`)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(`${file}: every row names a test that exists`)
