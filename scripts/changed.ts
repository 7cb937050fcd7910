// Chooses the test files for a change: npm test -- --changed [revision].
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { affected, type Entries, needsOf } from './affected.js'
import { repositoryFiles } from './passed.js'
import { expectedSeconds } from './test-files.js'

/** What every test needs: packages, the build and the test runner. */
const neededByAll =
  /^(package(-lock)?\.json|tsconfig[^/]*\.json|tsup\.config\.ts|core\/testing\/.*|scripts\/(compile|run-tests|services|setup|servers|test[^/]*)\.(ts|mjs))$/

/**
 * Seconds of tests outside of the changed parts, at least and at most. In between, they are a share of what the change can break: the nearest
 * tests find nearly every fault, and `npm test` runs all.
 */
const elsewhere = { least: 15, most: 100, share: 0.05 } as const

export interface Choice {
  readonly chosen: readonly string[]
  /** Affected through other parts only, and too many to wait for. */
  readonly tooFar: readonly string[]
  /** Number of test files that need nothing of what changed. */
  readonly unaffected: number
  /** The changed files and those that import them; undefined if everything needs what changed. */
  readonly nearby: readonly string[] | undefined
}

/** Files that differ from a revision, with new ones. Throws if git does not know the revision. */
export function changesSince(revision: string): readonly string[] {
  const git = (...args: readonly string[]): readonly string[] =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
      .split('\0')
      .filter(Boolean)
  const changed = git('diff', '--name-only', '-z', revision, '--')
  return [...new Set([...changed, ...git('ls-files', '--others', '--exclude-standard', '-z')])].sort()
}

export function choose(all: readonly string[], changed: readonly string[], last: ReadonlyMap<string, number>): Choice {
  if (changed.some((file) => neededByAll.test(file))) return { chosen: all, tooFar: [], unaffected: 0, nearby: undefined }
  const steps = affected(needsOf(tree(), entries()), changed)
  const parts = new Set(changed.map(partOf))
  const near = (file: string): number => (parts.has(partOf(file)) ? 0 : (steps.get(file) ?? 0))
  const found = all.filter((file) => steps.has(file)).sort((a, b) => near(a) - near(b))
  const seconds = (files: readonly string[]): number => files.reduce((sum, file) => sum + expectedSeconds(file, last), 0)
  const own = found.filter((file) => near(file) === 0)
  const others = found.filter((file) => near(file) > 0)
  const budget = Math.min(elsewhere.most, Math.max(elsewhere.least, elsewhere.share * seconds(others)))
  const fits = others.filter((_file, index) => seconds(others.slice(0, index + 1)) <= budget)
  const nearby = [...steps].flatMap(([file, count]) => (count <= 1 ? [file] : [])).filter((file) => existsSync(file))
  return { chosen: [...own, ...fits], tooFar: others.slice(fits.length), unaffected: all.length - found.length, nearby }
}

/** `plugins/queues`, `core/http`, `scripts`. */
function partOf(file: string): string {
  const [top = '', folder = ''] = file.split('/')
  return top === 'core' || top === 'plugins' ? `${top}/${folder}` : top
}

function tree(): ReadonlyMap<string, string> {
  const texts = (repositoryFiles() ?? []).filter((file) => /\.(tsx?|m?js|cjs|md|json|css)$/.test(file))
  return new Map(texts.map((file) => [file, readFileSync(file, 'utf8')]))
}

function entries(): Entries {
  const { paths } = JSON.parse(readFileSync('tsconfig.json', 'utf8')).compilerOptions as {
    readonly paths: Readonly<Record<string, readonly [string]>>
  }
  return Object.fromEntries(Object.entries(paths).map(([name, [path]]) => [name, path]))
}
