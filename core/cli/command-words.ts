import type { CommandShape } from '../host/command.js'

/** Replaces each route in a message with the command that calls it, if there is one. */
export function inCommands(message: string, commands: readonly CommandShape[]): string {
  const routes = commands.flatMap(({ name, route }) => (route === undefined ? [] : [{ name, pattern: patternOf(route) }]))
  return routes.reduce(
    (text, { name, pattern }) => text.replace(pattern, (_match, ...found: unknown[]) => `"${['zin', name, ...argsOf(found)].join(' ')}"`),
    message,
  )
}

/** `GET /api/workers/:name` matches the path with any value of `:name`, but not a longer path. */
function patternOf(route: string): RegExp {
  const source = route
    .split(/(:\w+)/)
    .map((part) => (part.startsWith(':') ? '([\\w%.~-]+)' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`\\b${source}(?![\\w%/:-])`, 'g')
}

/** The last two arguments of a replacer are the offset and the whole text. */
function argsOf(found: readonly unknown[]): string[] {
  return found.slice(0, -2).map(String)
}
