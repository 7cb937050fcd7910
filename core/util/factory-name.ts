/** The name that the factory of a plugin has in code: `slow-jobs` → `slowJobs`. */
export function factoryName(plugin: string): string {
  return plugin.replace(/-([a-z0-9])/g, (_dash, letter: string) => letter.toUpperCase())
}
