// The test files, what each needs, and the processes they share.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Paths of all test files, `/`-separated and relative to the root of the repository. */
export function allTestFiles(): readonly string[] {
  return ['core', 'plugins', 'scripts']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => join(folder, name).replaceAll('\\', '/')),
    )
    .sort()
}

export const needsServices = (file: string): boolean => /\.services(\.browser)?\.test\.ts$/.test(file)
export const needsBrowser = (file: string): boolean => file.endsWith('.browser.test.ts')
const isAlone = (file: string): boolean => file.endsWith('.process.test.ts') || needsBrowser(file)

/** The seconds that each file took last. Outside of the tree, so that it survives a build and is in no commit. */
const memory = 'node_modules/.cache/zin/test-seconds.json'

export function lastSeconds(): ReadonlyMap<string, number> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(memory, 'utf8')) as Record<string, number>))
  } catch {
    return new Map()
  }
}

export function rememberSeconds(seconds: ReadonlyMap<string, number>): void {
  mkdirSync(dirname(memory), { recursive: true })
  writeFileSync(memory, JSON.stringify(Object.fromEntries([...lastSeconds(), ...seconds]), null, 1))
}

/** An estimate for a file that has not run here yet. */
function usualSeconds(file: string): number {
  if (needsBrowser(file)) return 25
  if (file.endsWith('.process.test.ts')) return 10
  return needsServices(file) ? 5 : 1
}

export const expectedSeconds = (file: string, last: ReadonlyMap<string, number>): number => last.get(file) ?? usualSeconds(file)

/** The seconds after which a shared process should end: long enough to be worth its start, short enough to spread over the cores. */
const sharedSeconds = 40

/** Groups of files that run in one process each, those that take longest first. */
export function groups(files: readonly string[], last: ReadonlyMap<string, number>): readonly (readonly string[])[] {
  const seconds = (file: string): number => expectedSeconds(file, last)
  const total = (group: readonly string[]): number => group.reduce((sum, file) => sum + seconds(file), 0)
  const alone = files.filter(isAlone).map((file) => [file])
  const together = [true, false].flatMap((services) => {
    const own = files.filter((file) => !isAlone(file) && needsServices(file) === services)
    return own.length === 0 ? [] : spread(own, Math.ceil((total(own) + 1) / sharedSeconds), seconds)
  })
  return [...alone, ...together].sort((a, b) => total(b) - total(a))
}

/** Fills `count` groups, each file into the one that is shortest so far. */
function spread(files: readonly string[], count: number, seconds: (file: string) => number): readonly (readonly string[])[] {
  const bins = Array.from({ length: count }, () => ({ files: [] as string[], total: 0 }))
  for (const file of [...files].sort((a, b) => seconds(b) - seconds(a))) {
    const shortest = bins.reduce((least, bin) => (bin.total < least.total ? bin : least))
    shortest.files.push(file)
    shortest.total += seconds(file)
  }
  return bins.map((bin) => bin.files)
}
