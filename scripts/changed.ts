// Chooses the test files for a change: npm test -- --changed [revision].
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { affected, type Entries, isRead, needsOf, type Tree } from './affected.js'
import { repositoryFiles } from './passed.js'
import { expectedSeconds } from './test-files.js'

/** What every test needs: packages, the build and the test runner. */
const neededByAll =
  /^(package(-lock)?\.json|tsconfig[^/]*\.json|tsup\.config\.ts|core\/testing\/.*|scripts\/(compile|console-app|queue-template|run-tests|services|setup|servers|test[^/]*|testing\/quick-start)\.(ts|mjs))$/

/** If no test reads it: read by people, or by the checks, which always run. */
const neededByNoTest =
  /^(LICENSE|biome\.json|\.(c8rc|oxlintrc)\.json|\.dependency-cruiser\.cjs|scripts\/((api|bench|docs|fuzz|sim)\/.*|(api|check-[^/]*|docs|lock-platforms|typecheck)\.m?[tj]s)|.*\.(md|webp|test\.ts))$/

/** With which every file is linted. */
const lintRules = /^(biome\.json|\.oxlintrc\.json|\.dependency-cruiser\.cjs)$/

/** Seconds of the tests in the changed parts, the nearest first: longer runs are left to `npm test`. */
const mostOwn = 200

/**
 * Seconds of tests outside of the changed parts, at least and at most. In between, they are a share of what the change can break: the nearest
 * tests find nearly every fault, and `npm test` runs all.
 */
const elsewhere = { least: 15, most: 100, share: 0.05 } as const

export interface Choice {
  readonly chosen: readonly string[]
  /** Affected, but farther away, and too many to wait for. */
  readonly tooFar: readonly string[]
  /** Number of test files that need nothing of what changed. */
  readonly unaffected: number
  /** Changed files that no test is known to need: the tests of their parts are chosen. */
  readonly unknown: readonly string[]
  /** The changed files and those that import them, which are linted; undefined for all. */
  readonly nearby: readonly string[] | undefined
}

/** Files that differ from a revision, with new and deleted ones, and both names of renamed ones. Throws if git does not know the revision. */
export function changesSince(revision: string): readonly string[] {
  const git = (...args: readonly string[]): readonly string[] | undefined => {
    const { status, stdout } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
    return status === 0 ? stdout.split('\0').filter(Boolean) : undefined
  }
  const commit = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`)?.[0]?.trim()
  const changed = commit === undefined ? undefined : git('diff', '--name-only', '--no-renames', '-z', commit, '--')
  const added = git('ls-files', '--others', '--exclude-standard', '-z')
  if (changed === undefined || added === undefined) throw new UnknownRevision(revision)
  return [...new Set([...changed, ...added])].sort()
}

export class UnknownRevision extends Error {
  constructor(revision: string) {
    super(`--changed compares with a revision of git, and "${revision}" is none here`)
  }
}

export function choose(all: readonly string[], changed: readonly string[], last: ReadonlyMap<string, number>): Choice {
  if (changed.some((file) => neededByAll.test(file))) return { chosen: all, tooFar: [], unaffected: 0, unknown: [], nearby: undefined }
  const { needs, typesOnly } = needsOf(tree(changed), entries())
  const isUnknown = (file: string): boolean =>
    !(neededByNoTest.test(file) || typesOnly.has(file) || [...affected(needs, [file]).keys()].some((one) => all.includes(one)))
  const unknown = changed.filter(isUnknown)
  const whole = new Set(unknown.map(partOf).map((part) => (all.some((file) => partOf(file) === part) ? part : 'scripts')))
  const steps = new Map([...affected(needs, changed)])
  for (const file of all) if (whole.has(partOf(file)) && !steps.has(file)) steps.set(file, 1)
  const parts = new Set([...changed.map(partOf), ...whole])
  const seconds = (files: readonly string[]): number => files.reduce((sum, file) => sum + expectedSeconds(file, last), 0)
  const found = all
    .filter((file) => steps.has(file))
    .sort((a, b) => (steps.get(a) ?? 0) - (steps.get(b) ?? 0) || seconds([a]) - seconds([b]))
  const within = (files: readonly string[], most: number): readonly string[] =>
    files.filter((file, index) => changed.includes(file) || seconds(files.slice(0, index + 1)) <= most)
  const own = found.filter((file) => parts.has(partOf(file)))
  const others = found.filter((file) => !parts.has(partOf(file)))
  const share = Math.min(elsewhere.most, Math.max(elsewhere.least, elsewhere.share * seconds(others)))
  const chosen = [...within(own, mostOwn), ...within(others, share)]
  const nearby = [...steps].flatMap(([file, count]) => (count <= 1 ? [file] : [])).filter((file) => existsSync(file))
  return {
    chosen,
    tooFar: found.filter((file) => !chosen.includes(file)),
    unaffected: all.length - found.length,
    unknown,
    nearby: changed.some((file) => lintRules.test(file)) ? undefined : nearby,
  }
}

/** `plugins/queues`, `core/http`, `scripts`. */
function partOf(file: string): string {
  const [top = '', folder = ''] = file.split('/')
  return top === 'core' || top === 'plugins' ? `${top}/${folder}` : top
}

/** Deleted files are part of it, for whoever still names them. */
function tree(changed: readonly string[]): Tree {
  const stored = repositoryFiles() ?? []
  return new Map([
    ...changed.map((file) => [file, ''] as const),
    ...stored.map(
      (file) => [file, isRead(file) && statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, 'utf8') : ''] as const,
    ),
  ])
}

function entries(): Entries {
  const { paths } = JSON.parse(readFileSync('tsconfig.json', 'utf8')).compilerOptions as {
    readonly paths: Readonly<Record<string, readonly [string]>>
  }
  return Object.fromEntries(Object.entries(paths).map(([name, [path]]) => [name, path]))
}
