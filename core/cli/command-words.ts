import type { CommandShape } from '../host/command.js'

/** Replaces each route named in a message by the command that calls it, when a command declares one. */
export function inCommands(message: string, commands: readonly CommandShape[]): string {
  const routes = commands.flatMap(({ name, route }) => (route === undefined ? [] : [{ name, pattern: patternOf(route) }]))
  return routes.reduce(
    (text, { name, pattern }) => text.replace(pattern, (_match, ...found: unknown[]) => `"${['zin', name, ...argsOf(found)].join(' ')}"`),
    message,
  )
}

/** `GET /api/workers/:name` matches the path with any value of `:name`, and no longer path. */
function patternOf(route: string): RegExp {
  const source = route
    .split(/(:\w+)/)
    .map((part) => (part.startsWith(':') ? '([\\w%.~-]+)' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`\\b${source}(?![\\w%/:-])`, 'g')
}

/** What a replacer gets ends with the offset and the whole text. */
function argsOf(found: readonly unknown[]): string[] {
  return found.slice(0, -2).map(String)
}
