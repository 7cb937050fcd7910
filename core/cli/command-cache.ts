import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FoundConfig } from '../config/load.js'
import type { CommandShape, OwnedCommand } from '../host/command.js'

interface CacheContent {
  readonly key: string
  readonly commands: readonly OwnedCommand<CommandShape>[]
}

/** Fields that `zin help` needs; functions are not cached. */
const shapeKeys = ['name', 'aliases', 'summary', 'args', 'options', 'json', 'confirms', 'needs'] as const

const cacheIn = (rootDir: string): string => join(rootDir, '.zin', 'cache', 'commands.json')

/**
 * Caches the commands of an app's plugins for `zin help`, so that help does not have to load the app. The cache is used for help only:
 * commands are run from the configuration. A read-only folder is not an error.
 */
export async function writeCommandCache(
  { file: configFile, rootDir }: FoundConfig,
  version: string,
  commands: readonly OwnedCommand<CommandShape>[],
): Promise<void> {
  const file = cacheIn(rootDir)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    const content: CacheContent = {
      key: await keyOf(configFile, version),
      commands: commands.map(({ plugin, command }) => ({ plugin, command: shapeOf(command) })),
    }
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(temporary, JSON.stringify(content))
    await rename(temporary, file)
  } catch {
    // The folder is read-only, see above.
  }
}

/** Returns the cached commands, or undefined if there are none or the configuration file has changed since. */
export async function readCommandCache(
  { file: configFile, rootDir }: FoundConfig,
  version: string,
): Promise<readonly OwnedCommand<CommandShape>[] | undefined> {
  try {
    const content = JSON.parse(await readFile(cacheIn(rootDir), 'utf8')) as Partial<CacheContent>
    const fresh = content.key === (await keyOf(configFile, version)) && Array.isArray(content.commands)
    return fresh && content.commands?.every(isOwnedCommand) ? content.commands : undefined
  } catch {
    return undefined
  }
}

async function keyOf(configFile: string, version: string): Promise<string> {
  const { mtimeMs, size } = await stat(configFile)
  return [version, configFile, mtimeMs, size].join('|')
}

function shapeOf(command: CommandShape): CommandShape {
  return Object.fromEntries(
    shapeKeys.filter((key) => command[key] !== undefined).map((key) => [key, command[key]]),
  ) as unknown as CommandShape
}

function isOwnedCommand(entry: OwnedCommand<CommandShape> | undefined): boolean {
  return typeof entry?.plugin === 'string' && typeof entry.command?.name === 'string' && typeof entry.command.summary === 'string'
}
