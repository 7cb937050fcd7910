import { existsSync, readdirSync } from 'node:fs'
import type { Command, OwnedCommand } from '../host/command.js'

export type LoadCommands = () => Promise<readonly OwnedCommand[]>

/**
 * Commands that need no app: what a plugin's `standalone.ts` exports as `commands`. They run in every folder, and in one with an app they
 * see the settings of its `.env`. Each imports what is heavy when it runs.
 *
 * @param plugins folder of the built plugins, with a slash at its end.
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
