import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { messageOf } from 'zin'
import { slugPattern } from '../schema.js'
import { configReader, type ServiceConfig } from './read-config.js'

/** A service.config.json found on disk. */
export interface FoundService {
  /** Path relative to the folder of services, such as `shop/orders`. */
  readonly place: string
  /** Absolute. */
  readonly folder: string
  readonly domain: string
  readonly config: ServiceConfig
}

const fileName = 'service.config.json'
const maxBytes = 65_536
const slug = new RegExp(slugPattern)

/** Finds `<domain>/<service>/service.config.json` in a folder, in lexicographic order, and returns all problems found. */
export async function findServices(
  directory: string,
): Promise<{ readonly found: readonly FoundService[]; readonly problems: readonly string[] }> {
  const found: FoundService[] = []
  const problems: string[] = []
  const read = configReader()
  const root = await realpath(directory).catch(() => undefined)
  if (root === undefined) return { found, problems }
  for (const domain of await folders(root)) {
    for (const name of await folders(join(root, domain))) {
      const folder = join(root, domain, name)
      const place = `${domain}/${name}`
      const wrong = (problem: string): unknown => problems.push(`${place}/${fileName}: ${problem}`)
      const file = await realpath(join(folder, fileName)).catch(() => undefined)
      if (file === undefined) continue
      if (!file.startsWith(root + sep)) {
        wrong('it is a link to a file outside the folder of services')
        continue
      }
      if (!slug.test(domain) || !slug.test(name))
        wrong('the names of its folders must be made of lower-case letters, digits and single hyphens')
      const text = await textOf(file).catch((error: unknown) => void wrong(`it cannot be read (${messageOf(error)})`))
      if (text === undefined) continue
      const result = read(text)
      if ('problems' in result) result.problems.forEach(wrong)
      else if (result.config.domain !== undefined && result.config.domain !== domain)
        wrong(`domain is "${result.config.domain}", but its folder is "${domain}"; they must be the same`)
      else found.push({ place, folder, domain, config: result.config })
    }
  }
  return { found, problems }
}

async function textOf(file: string): Promise<string> {
  if ((await stat(file)).size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
  return readFile(file, 'utf8')
}

async function folders(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true })
  const names = entries.filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
  const isFolder = await Promise.all(
    names.map(({ name }) =>
      stat(join(path, name)).then(
        (found) => found.isDirectory(),
        () => false,
      ),
    ),
  )
  return names
    .filter((_, index) => isFolder[index])
    .map(({ name }) => name)
    .sort()
}
