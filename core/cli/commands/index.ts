import type { Command } from '../../host/command.js'
import { configCheckCommand } from './config-check.js'
import { devCommand } from './dev.js'
import { hooksCommand } from './hooks.js'
import { makePluginCommand } from './make-plugin.js'
import { newCommand } from './new.js'
import { pluginsCommand } from './plugins.js'
import { routesCommand } from './routes.js'
import { startCommand } from './start.js'

/** Commands that every app has, in the order of `zin help`. Each imports what is heavy when it runs. */
export const coreCommands: readonly Command[] = [
  newCommand,
  devCommand,
  startCommand,
  pluginsCommand,
  hooksCommand,
  routesCommand,
  configCheckCommand,
  makePluginCommand,
]

/** Long-running commands treat SIGINT and SIGTERM themselves. */
export function handlesSignals(command: Command): boolean {
  return command === startCommand || command === devCommand
}
