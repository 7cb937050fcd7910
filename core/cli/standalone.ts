import { existsSync, readdirSync } from 'node:fs'
import type { Command, OwnedCommand } from '../host/command.js'

export type LoadCommands = () => Promise<readonly OwnedCommand[]>

/** Plugins by the names of their commands. */
export type LoadOwners = () => Promise<Readonly<Record<string, string>>>

/**
 * Loads the commands that need no app: the export `commands` of each plugin's `standalone.ts`. They run in any folder; inside an app, they
 * use the settings of its `.env`. They import heavy modules lazily.
 *
 * @param plugins folder of the built plugins, with a trailing slash.
 */
export async function standaloneCommands(plugins: URL): Promise<readonly OwnedCommand[]> {
  const names = existsSync(plugins) ? readdirSync(plugins) : []
  const files = names
    .map((plugin) => ({ plugin, file: new URL(`${plugin}/standalone.js`, plugins) }))
    .filter(({ file }) => existsSync(file))
  const loaded = files.map(async ({ plugin, file }) => {
    const { commands } = (await import(file.href)) as { readonly commands: readonly Command[] }
    return commands.map((command) => ({ plugin, command }))
  })
  return (await Promise.all(loaded)).flat()
}

/**
 * Loads the names of all commands of the built-in plugins, with their plugins.
 *
 * @param plugins folder of the built plugins, with a trailing slash.
 */
export async function commandOwners(plugins: URL): Promise<Readonly<Record<string, string>>> {
  const file = new URL('commands.js', plugins)
  if (!existsSync(file)) return {}
  return ((await import(file.href)) as { readonly commandOwners: Readonly<Record<string, string>> }).commandOwners
}
