/** Commands that need no app. */
export { edgeProxyCommands as commands } from './cli.js'
