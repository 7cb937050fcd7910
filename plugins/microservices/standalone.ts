/** Commands that run in any folder. */
export { standaloneCommands as commands } from './cli.js'
