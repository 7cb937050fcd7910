/** Returns the name of a plugin's factory in code: `slow-jobs` → `slowJobs`. */
export function factoryName(plugin: string): string {
  return plugin.replace(/-([a-z0-9])/g, (_dash, letter: string) => letter.toUpperCase())
}
