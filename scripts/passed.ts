// Remembers with which files a check passed, so that it runs again only after a change. Outside of the tree: a fresh checkout remembers nothing.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const memory = 'node_modules/.cache/zin/passed.json'

/** A digest of the content of files and of whether they are executable, of further names, and of the version of Node. */
export function digestOf(files: readonly string[], names: readonly string[] = []): string {
  const hash = createHash('sha256').update([process.version, ...names].join('\0'))
  for (const file of files) {
    const stat = lstatSync(file)
    const content = stat.isSymbolicLink() ? readlinkSync(file) : readFileSync(file)
    hash.update(`\0${file}\0${stat.mode & 0o170111}\0`).update(content)
  }
  return hash.digest('hex')
}

/** The files of the repository, without those that git ignores, and without other checkouts in it; undefined outside of a git checkout. */
export function repositoryFiles(): readonly string[] | undefined {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const { status, stdout } = spawnSync('git', list, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  return status === 0 ? stdout.split('\0').filter((file) => file !== '' && isFile(file)) : undefined
}

function isFile(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && !stat.isDirectory()
}

/** What determines the types of the package: its manifest, its declarations, and the code that checks them. */
export function declarationFiles(): readonly string[] {
  const names = readdirSync('dist', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
  return ['package.json', 'package-lock.json', ...names.sort().map((name) => join('dist', name))]
}

/** Runs a check unless it passed with the same digest before. Without a digest it always runs. */
export async function unlessPassed(name: string, digest: string | undefined, run: () => boolean | Promise<boolean>): Promise<boolean> {
  if (digest !== undefined && remembered()[name] === digest) return true
  const passed = await run()
  const { [name]: _, ...others } = remembered()
  mkdirSync(dirname(memory), { recursive: true })
  writeFileSync(memory, JSON.stringify(passed && digest !== undefined ? { ...others, [name]: digest } : others, null, 1))
  return passed
}

function remembered(): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(memory, 'utf8')) as Record<string, string>
  } catch {
    return {}
  }
}
