import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packFolder, syncFolder, unpackFolder } from './archive.js'
import { initDbParams, postgresMajor } from './parameters.js'

/** First line of a template, as JSON; the packed data directory follows. */
interface Header {
  /** The versions that created it; a template with another stamp is not used. */
  readonly stamp: string
  /** SHA-256 of the packed directory, in hex. */
  readonly sha256: string
}

const installed = createRequire(import.meta.url)

/** Lists everything that determines the content of a new data directory. */
export function templateStamp(): string {
  const versions = ['@electric-sql/pglite', 'bullmq'].map((name) => `${name}@${versionOf(name)}`)
  return ['4', ...versions, `postgres@${postgresMajor}`, ...initDbParams].join(' ')
}

/** The location of the template: `dist/queue-template` of the package that this code belongs to, as source or built. */
export function builtTemplate(): string | undefined {
  const root = parents(dirname(fileURLToPath(import.meta.url))).find((folder) => existsSync(join(folder, 'package.json')))
  return root === undefined ? undefined : join(root, 'dist', 'queue-template')
}

/** Writes the data directory `dir` of a closed store as a template. */
export async function writeTemplate(file: string, dir: string): Promise<void> {
  const packed = await packFolder(dir)
  const header: Header = { stamp: templateStamp(), sha256: digest(packed) }
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), packed]))
  await rename(`${file}.new`, file)
}

/** Whether the template exists, is intact, and matches the running versions. */
export async function templateMatches(file: string): Promise<boolean> {
  return (await readTemplate(file)) !== undefined
}

/**
 * Creates the data directory `dir` from a template, atomically. Does nothing when `dir` is not empty, or no template matches. The
 * caller holds the lock of the parent folder.
 */
export async function makeFromTemplate(dir: string, file: string, { sync }: { readonly sync: boolean }): Promise<void> {
  const unpacking = `${dir}.new`
  // Left over by a process that was killed while unpacking.
  await rm(unpacking, { recursive: true, force: true })
  const existing = await readdir(dir).catch(() => undefined)
  if (existing !== undefined && existing.length > 0) return
  const packed = await readTemplate(file)
  if (packed === undefined) return
  try {
    await unpackFolder(packed, unpacking, { sync })
  } catch (error) {
    await rm(unpacking, { recursive: true, force: true })
    throw error
  }
  if (existing !== undefined) await rmdir(dir)
  await rename(unpacking, dir)
  if (sync) await syncFolder(dirname(dir))
}

async function readTemplate(file: string): Promise<Buffer | undefined> {
  const content = await readFile(file).catch(() => undefined)
  if (content === undefined) return undefined
  const end = content.indexOf('\n')
  const header = parseHeader(content.toString('utf8', 0, Math.max(0, end)))
  const packed = content.subarray(end + 1)
  return header?.stamp === templateStamp() && header.sha256 === digest(packed) ? packed : undefined
}

function parseHeader(line: string): Partial<Header> | undefined {
  try {
    return JSON.parse(line) as Partial<Header>
  } catch {
    return undefined
  }
}

function digest(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

function versionOf(name: string): string {
  for (const folder of parents(dirname(installed.resolve(name)))) {
    const file = join(folder, 'package.json')
    if (!existsSync(file)) continue
    const found = JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: string; readonly version?: string }
    if (found.name === name) return String(found.version)
  }
  throw new Error(`the package.json of ${name} was not found`)
}

/** A folder and all its parents. */
function parents(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...parents(above)]
}
