import type { Command } from '../../host/command.js'
import { addCommand } from './add.js'
import { buildCommand } from './build.js'
import { configCheckCommand } from './config-check.js'
import { dataExportCommand, dataImportCommand } from './data.js'
import { devCommand } from './dev.js'
import { docsCommand } from './docs.js'
import { doctorCommand } from './doctor.js'
import { hooksCommand } from './hooks.js'
import { infoCommand } from './info.js'
import { makeFileCommands } from './make-file.js'
import { makePluginCommand } from './make-plugin.js'
import { newCommand } from './new.js'
import { pluginsCommand } from './plugins.js'
import { replCommand } from './repl.js'
import { routesCommand } from './routes.js'
import { startCommand } from './start.js'
import { testCommand } from './test.js'

/** Commands of every app, in the order of `zin help`. They import heavy modules lazily. */
export const coreCommands: readonly Command[] = [
  newCommand,
  devCommand,
  buildCommand,
  startCommand,
  pluginsCommand,
  hooksCommand,
  routesCommand,
  configCheckCommand,
  infoCommand,
  doctorCommand,
  replCommand,
  addCommand,
  dataExportCommand,
  dataImportCommand,
  makePluginCommand,
  ...makeFileCommands(() => coreCommands.map(({ name }) => name)),
  docsCommand,
  testCommand,
]

/** Whether a command handles SIGINT and SIGTERM itself, as long-running ones do. */
export function handlesSignals(command: Command): boolean {
  return command === startCommand || command === devCommand
}
